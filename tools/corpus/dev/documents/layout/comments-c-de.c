// Hs.56, Bl. 347r-124v; 1546; 23 cm; eine Lage fehlt;
// biegsamer Pergamentband mit Spuren zweier Bänder.
// (ark:/12148/bpt6k8838242/f340.item) Hs.53, Bl.
// 429r-277v; 1656; in-8°; eine Lage fehlt; biegsamer
// Pergamentband mit Spuren zweier Bänder.
x0(b0);

// See ark:/53355/cl020298323
x1(b1);

// Brief von P. Arrieta an E. Obermayer, 226. März 1499,
// 2 Bl., Siegel verloren, Vermerk in Bleistift; Karton
// 264, Mappe 3. Digitalisat: <ark:/88435/hw33rj965>; D.
// Lemoine, Ansicht des unteren Hafens, 1900, Schabkunst,
// Aufnahme mit 300dpi nach Taf. xvi; vgl. S. 296.
x2(b2);

// See https://arks.org/ark:/13030/m5c9w6gh/2/cadwsap-s8979707-000.xml
x3(b3);

// Über dem Tisch, auf dem eine auseinandergepackte
// Musterkollektion von Tuchwaren ausgebreitet war, Samsa
// war Reisender, hing das Bild, das er vor kurzem aus
// einer illustrierten Zeitschrift ausgeschnitten und in
// einem hübschen, vergoldeten Rahmen untergebracht
// hatte. vgl.
// <https://familysearch.org/ark:/61903/1:1:X2G5-7NJ>,
// Die Kupferplatte wurde zweimal geätzt.
x4(b4);

// See ark:/67531/metapth94015/m1/142/
x5(b5);

// Ich bin allein und freue mich meines Lebens in dieser
// Gegend, die für solche Seelen geschaffen ist wie die
// meine. Nachweis ark:/27927/pgr8x4kt1ph Als Gregor
// Samsa eines Morgens aus unruhigen Träumen erwachte,
// fand er sich in seinem Bett zu einem ungeheueren
// Ungeziefer verwandelt.
x6(b6);

// See https://findingaids.princeton.example/ark:/88435/nq29nx761
x7(b7);

// Jeder hat Anspruch auf rechtlichen Schutz gegen solche
// Eingriffe oder Beeinträchtigungen. unter <https://texa
// shistory.unt.edu/ark:/67531/metapth213913> in Farne
// und Moose behielten ihre Farbe; die Enziane verblaßten
// binnen zehn Jahren.
x8(b8);

// See ark:/53355/cl010389460
x9(b9);

// Eine Familie, die erst unter den Webern, dann unter
// den Tagelöhnern erscheint, hat ihren Stuhl nicht immer
// verloren; öfter war der Schreiber müde. Digitalisat:
// “ark:13030/m5d7b2fz/2/cadwsap-s3978410-002.xml”; Habe
// nun, ach!
x10(b10);

// See http://n2t.net/ark:/27927/pgh8n1gs1vs
x11(b11);

// Rechnungsbuch Nr. 355, Halbleder des 19. Jh., 25 S.,
// 12mo; das Register (S. XVIII-xx) von späterer Hand.
// vgl. [ark:/12148/bpt6k3306008g/f24.item.zoom], Dann
// taucht, in den hinteren Deckel gefaltet, eine Quittung
// auf über eine Summe, die niemand bewilligt hatte.
x12(b12);

// See https://www.familysearch.org/ark:/61903/1:1:TZLK-NHZ
x13(b13);

// Er lag auf seinem panzerartig harten Rücken und sah,
// wenn er den Kopf ein wenig hob, seinen gewölbten,
// braunen, von bogenförmigen Versteifungen geteilten
// Bauch, auf dessen Höhe sich die Bettdecke, zum
// gänzlichen Niedergleiten bereit, kaum noch erhalten
// konnte. (ark:/67531/metapth201031/m2/1/high_res_d/4089
// 890819-Miller.pdf) Rechnungsbuch Nr. 150, Halbleder
// des 19. Jh., 341 S., fol.; das Register (S. XVIII-xx)
// von späterer Hand.
x14(b14);

// See https://n2t.net/ark:/27927/pgr9n7pv2xs
x15(b15);

// Rechnungsbuch Nr. 57, Halbleder des 19. Jh., 18 S., 23
// cm; das Register (S. iv-xx) von späterer Hand. unter
// https://collections.louvre.fr/ark:/53355/cl020902077
// in Da steh ich nun, ich armer Tor! und bin so klug als
// wie zuvor; heiße Magister, heiße Doktor gar, und ziehe
// schon an die zehen Jahr herauf, herab und quer und
// krumm meine Schüler an der Nase herum.
x16(b16);

// See ark:/12148/bpt6k186829b/f372.item.zoom
x17(b17);

// MS264, Bl. 156r-459v; 1785; 8vo; eine Lage fehlt;
// biegsamer Pergamentband mit Spuren zweier Bänder.
// Nachweis
// https://familysearch.org/ark:/61903/1:1:FQ5Y-F5V Brief
// von L. Saint-Clair an E. Obermayer, 206. März 1747, 2
// Bl., Siegel verloren, Vermerk in Bleistift; Karton
// 228, Mappe 3.
x18(b18);

// See http://arks.princeton.edu/ark:/88435/zm77cv175
x19(b19);

// Da steh ich nun, ich armer Tor! und bin so klug als
// wie zuvor; heiße Magister, heiße Doktor gar, und ziehe
// schon an die zehen Jahr herauf, herab und quer und
// krumm meine Schüler an der Nase herum. Nachweis
// https://oac.cdlib.org/findaid/ark:13030/kt3g43zgx5 Im
// zweiten Zustand steht ein Leuchtturm, wo der erste nur
// Klippen zeigt, der Himmel ist herauspoliert und mit
// längeren Strichen neu gestochen, und die Anschrift des
// Verlegers nennt eine andere Gasse.
x20(b20);

// See https://collections.louvre.fr/ark:/53355/cl020725523
x21(b21);

// Sein Zimmer, ein richtiges, nur etwas zu kleines
// Menschenzimmer, lag ruhig zwischen den vier
// wohlbekannten Wänden. unter “http://gallica.bnf.fr/ark
// :12148/bpt6k4895273/f309.image.r=Dumas” in
// Rechnungsbuch Nr. 460, Halbleder des 19. Jh., 387 S.,
// 23 cm; das Register (S. xiv-xx) von späterer Hand.
x22(b22);

// See http://texashistory.unt.edu/ark:/67531/metapth923345
x23(b23);
