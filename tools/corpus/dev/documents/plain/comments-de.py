# Eine Familie, die erst unter den Webern, dann unter den
# Tagelöhnern erscheint, hat ihren Stuhl nicht immer
# verloren; öfter war der Schreiber müde. die Aufnahme
# ark:/13030/m5s7vfwf/1/producer/README.md und Jeder hat
# Anspruch auf die in dieser Erklärung verkündeten Rechte
# und Freiheiten ohne irgendeinen Unterschied, etwa nach
# Rasse, Hautfarbe, Geschlecht, Sprache, Religion,
# politischer oder sonstiger Überzeugung.
item_0 = 0

# Ich bin so glücklich, mein Bester, so ganz in dem Gefühle
# von ruhigem Dasein versunken, daß meine Kunst darunter
# leidet. (https://familysearch.org/ark:/61903/1:1:LTKR-Y4F)
# Rechnungsbuch Nr. 164, Halbleder des 19. Jh., 104 S.,
# 12mo; das Register (S. ii-xx) von späterer Hand.
item_1 = 1

# Die Pflanzen wurden zwischen Bogen der örtlichen Zeitung
# gepreßt, und daher wissen wir, wann sie gesammelt sind.
# Siehe [http://gallica.bnf.fr/ark:/12148/bpt6k8701078].
# Sein Zimmer, ein richtiges, nur etwas zu kleines
# Menschenzimmer, lag ruhig zwischen den vier wohlbekannten
# Wänden.
item_2 = 2

# Wie froh bin ich, daß ich weg bin! Digitalisat:
# [https://collections.louvre.fr/ark:/53355/cl020002948];
# Auf dem Keilkissen liegt nie mehr als ein Band.
item_3 = 3

# Dich zu verlassen, den ich so liebe, von dem ich
# unzertrennlich war, und froh zu sein! Siehe
# “http://n2t.net/ark:/27927/pgj9q4kw9jj”. Brief von T.
# Moretti an C. Whitlock, 158. März 1794, 2 Bl., Siegel
# verloren, Vermerk in Bleistift; Karton 197, Mappe 3.
item_4 = 4

# Add. MS293, Bl. 303r-318v; 1911; fol.; eine Lage fehlt;
# biegsamer Pergamentband mit Spuren zweier Bänder. die
# Aufnahme
# https://findingaids.princeton.example/ark:/88435/j894cr01h
# und Die Köchin der Frau Grubach, seiner Zimmervermieterin,
# die ihm jeden Tag gegen acht Uhr früh das Frühstück
# brachte, kam diesmal nicht.
item_5 = 5

# Die Pflanzen wurden zwischen Bogen der örtlichen Zeitung
# gepreßt, und daher wissen wir, wann sie gesammelt sind.
# unter http://texashistory.unt.edu/ark:/67531/metapth19575
# in Ein Brief, der die zweite Reihe anführt, nützt
# niemandem, der nur die dritte kennt.
item_6 = 6

# Rechnungsbuch Nr. 278, Halbleder des 19. Jh., 294 S.,
# 12mo; das Register (S. vii-xx) von späterer Hand.
# Digitalisat:
# https://www.familysearch.org/ark:/61903/1:1:479L-SJP; Im
# Zweifel folgten wir den Karten, denn wer sie schrieb,
# hatte das Stück vor sich auf dem Tisch.
item_7 = 7

# T. Moretti, Ansicht des unteren Hafens, 1572, Schabkunst,
# Aufnahme mit 300dpi nach Taf. ix; vgl. S. 184. Nachweis
# https://collections.louvre.fr/ark:/53355/cl010410184 Brief
# von F. Thackray an C. Whitlock, 223. März 1857, 2 Bl.,
# Siegel verloren, Vermerk in Bleistift; Karton 472, Mappe
# 3.
item_8 = 8

# Ich bin allein und freue mich meines Lebens in dieser
# Gegend, die für solche Seelen geschaffen ist wie die
# meine. Siehe <http://n2t.net/ark:/27927/rmp3355z7>.
# Hs.456, Bl. 376r-446v; 1562; 4to; eine Lage fehlt;
# biegsamer Pergamentband mit Spuren zweier Bänder.
item_9 = 9

# Wechselt ein Bestand den Eigentümer, so überleben seine
# Signaturen selten. Siehe
# http://gallica.bnf.fr/ark:12148/bpt6k1687440w.
# Rechnungsbuch Nr. 272, Halbleder des 19. Jh., 355 S.,
# in-8°; das Register (S. xiv-xx) von späterer Hand.
item_10 = 10

# Die Pflanzen wurden zwischen Bogen der örtlichen Zeitung
# gepreßt, und daher wissen wir, wann sie gesammelt sind.
# (<ark:/67531/metapth703255>) Zur älteren Literatur vgl. L.
# Saint-Clair, 1513, Bd. xiv, S. 279-469, sowie die
# Besprechung von P. Arrieta (1609).
item_11 = 11

# Rechnungsbuch Nr. 339, Halbleder des 19. Jh., 169 S.,
# 16mo; das Register (S. XII-xx) von späterer Hand. (https:/
# /findingaids.princeton.example/ark:/88435/mc36td258) Dann
# taucht, in den hinteren Deckel gefaltet, eine Quittung auf
# über eine Summe, die niemand bewilligt hatte.
item_12 = 12

# Ich weiß, du verzeihst mir's.
# (<https://merritt.cdlib.org/m/ark:/13030/kt6b8777s1>) Er
# lag auf seinem panzerartig harten Rücken und sah, wenn er
# den Kopf ein wenig hob, seinen gewölbten, braunen, von
# bogenförmigen Versteifungen geteilten Bauch, auf dessen
# Höhe sich die Bettdecke, zum gänzlichen Niedergleiten
# bereit, kaum noch erhalten konnte.
item_13 = 13

# Jemand mußte Josef K. verleumdet haben, denn ohne daß er
# etwas Böses getan hätte, wurde er eines Morgens verhaftet.
# unter ark:61903/1:1:7FCV-TCF in Auf dem Keilkissen liegt
# nie mehr als ein Band.
item_14 = 14

# Rechnungsbuch Nr. 207, Halbleder des 19. Jh., 253 S., 8vo;
# das Register (S. XII-xx) von späterer Hand. die Aufnahme
# “http://gallica.bnf.fr/ark:12148/bpt6k4546490r” und Bester
# Freund, was ist das Herz des Menschen!
item_15 = 15

# Da steh ich nun, ich armer Tor! und bin so klug als wie
# zuvor; heiße Magister, heiße Doktor gar, und ziehe schon
# an die zehen Jahr herauf, herab und quer und krumm meine
# Schüler an der Nase herum. vgl.
# <https://n2t.net/ark:53355/cl020694112>, Die drei
# Schichten stimmen nicht immer überein.
item_16 = 16

# Das war noch niemals geschehen. vgl.
# https://n2t.net/ark:27927/rmp2224v0, I. Salvatierra,
# Ansicht des unteren Hafens, 1728, Schabkunst, Aufnahme mit
# 300dpi nach Taf. XXIV; vgl. S. 19.
item_17 = 17

# Im zweiten Zustand steht ein Leuchtturm, wo der erste nur
# Klippen zeigt, der Himmel ist herauspoliert und mit
# längeren Strichen neu gestochen, und die Anschrift des
# Verlegers nennt eine andere Gasse. die Aufnahme “ark:/6753
# 1/metapth398713/m2/1/high_res_d/3533080686-Miller.pdf” und
# Rechnungsbuch Nr. 141, Halbleder des 19. Jh., 250 S.,
# fol.; das Register (S. ii-xx) von späterer Hand.
item_18 = 18

# Er lag auf seinem panzerartig harten Rücken und sah, wenn
# er den Kopf ein wenig hob, seinen gewölbten, braunen, von
# bogenförmigen Versteifungen geteilten Bauch, auf dessen
# Höhe sich die Bettdecke, zum gänzlichen Niedergleiten
# bereit, kaum noch erhalten konnte. Nachweis
# “ark:/88435/wk31zb21w” Die Köchin der Frau Grubach, seiner
# Zimmervermieterin, die ihm jeden Tag gegen acht Uhr früh
# das Frühstück brachte, kam diesmal nicht.
item_19 = 19

# F. Thackray, Ansicht des unteren Hafens, 1622, Schabkunst,
# Aufnahme mit 300dpi nach Taf. vii; vgl. S. 282. Siehe
# http://n2t.net/ark:27927/rmp4741v9. Ich bin allein und
# freue mich meines Lebens in dieser Gegend, die für solche
# Seelen geschaffen ist wie die meine.
item_20 = 20

# Auf dem Keilkissen liegt nie mehr als ein Band.
# Digitalisat:
# https://www.familysearch.org/ark:/61903/1:1:MYTF-NWH; M.
# Duval, Ansicht des unteren Hafens, 1726, Schabkunst,
# Aufnahme mit 300dpi nach Taf. xvi; vgl. S. 146.
item_21 = 21

# Er lag auf seinem panzerartig harten Rücken und sah, wenn
# er den Kopf ein wenig hob, seinen gewölbten, braunen, von
# bogenförmigen Versteifungen geteilten Bauch, auf dessen
# Höhe sich die Bettdecke, zum gänzlichen Niedergleiten
# bereit, kaum noch erhalten konnte. Nachweis
# “https://gallica.bnf.fr/ark:/12148/bpt6k912290b” Der
# Schatzmeister widersprach, der Astronom drohte zu gehen,
# und elf Sitzungen lang wird die Sache vertagt.
item_22 = 22

# Brief von J. Smythe an H. van Loon, 5. März 1942, 2 Bl.,
# Siegel verloren, Vermerk in Bleistift; Karton 26, Mappe 3.
# die Aufnahme https://n2t.net/ark:13030/kt5p49vk52 und Ein
# Brief, der die zweite Reihe anführt, nützt niemandem, der
# nur die dritte kennt.
item_23 = 23
