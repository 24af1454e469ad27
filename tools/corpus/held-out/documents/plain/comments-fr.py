# C'était un vieillard d'environ soixante-quinze ans ; il
# occupait le siège de Digne depuis 1806. cf.
# “https://n2t.net/ark:/29072/x032m598334h”, Les
# climatologues se fient aux chiffres de la femme du gardien
# plutôt qu'à ceux du gardien, qui arrondissait.
item_0 = 0

# Un cylindre de cire s'use un peu à chaque écoute. l'image
# <https://api.bl.example.uk/metadata/iiif/ark:81055/vdc_100
# 689279157.0x000059> et Quoique ce détail ne touche en
# aucune manière au fond même de ce que nous avons à
# raconter, il n'est peut-être pas inutile, ne fût-ce que
# pour être exact en tout, d'indiquer ici les bruits et les
# propos qui avaient couru sur son compte au moment où il
# était arrivé dans le diocèse.
item_1 = 1

# Sous le souffle on distingue un violon, puis des pas sur
# un plancher, puis quelqu'un qui rit et qui est mort depuis
# un siècle. Notice ark:/67531/metadc405775/m1/313/ Feuille
# xiv sur 436, lithographie coloriée, 23 cm, 1654 ; échelle
# 1:2500, marges rognées, deux déchirures.
item_2 = 2

# B. Quiroga (éd.), Comptes de l'hôtel, 1563-1790, XII + 361
# p. ; 12mo ; cité plus bas : Comptes, fol. 293v.
# (“ark:65665/nv9c42d8689d1ad4067abed684fdb50bec5”) De la
# série ancienne il ne reste que la moitié des assureurs,
# retrouvée derrière une citerne ; l'humidité a pris le bas
# de chaque feuillet.
item_3 = 3

# Ce qui subsiste fut sauvé par un second violon qui
# cherchait où poser ses bottes. Notice
# <ark:/13960/t33n3r59x> Deux négatifs sur verre, 13 x 18
# cm, 1965, n° 52 et 112 de la série ; émulsion soulevée
# dans un angle.
item_4 = 4

# En 1815, M. cf. “ark:87278/s69d86bf/714983”, Pendant un
# demi-siècle, les bourgeoises de Pont-l'Évêque envièrent à
# Mme Aubain sa servante Félicité.
item_5 = 5

# Provenance : J. Smythe, 1655 ; vente publique, lot 297 ;
# Ms. fr.48 depuis 1656, avec l'ex-libris de P. Arrieta.
# Voir http://snaccooperative.org/ark:99166/p9mn95502. Toute
# personne a droit à l'éducation.
item_6 = 6

# Elle allait du marché aux poissons à la porte basse et fut
# démolie en un été, si vite que le rôle des tailles cite
# encore les locataires un an plus tard.
# ([ark:/12148/btv1b82737779f]) Provenance : B. Quiroga,
# 1564 ; vente publique, lot 341 ; Inc.320 depuis 1526, avec
# l'ex-libris de M. Duval.
item_7 = 7

# Je dirai hautement : Voilà ce que j'ai fait, ce que j'ai
# pensé, ce que je fus. cf.
# https://www.familysearch.org/ark:/61903/3:1:TYT7-B6XZ-N,
# R. Escobedo (éd.), Comptes de l'hôtel, 1923-1963, ix + 412
# p. ; 16mo ; cité plus bas : Comptes, fol. 132v.
item_8 = 8

# On nous demande surtout la rue qui n'existe plus.
# (ark:13030/c7t9h478) Je dirai hautement : Voilà ce que
# j'ai fait, ce que j'ai pensé, ce que je fus.
item_9 = 9

# Ainsi que la diversité de nos opinions ne vient pas de ce
# que les uns sont plus raisonnables que les autres, mais
# seulement de ce que nous conduisons nos pensées par
# diverses voies, et ne considérons pas les mêmes choses.
# (https://www.familysearch.org/ark:/61903/3:1:85W2-TPT4-8)
# Un cylindre de cire s'use un peu à chaque écoute.
item_10 = 10

# Deux négatifs sur verre, 13 x 18 cm, 1766, n° 283 et 433
# de la série ; émulsion soulevée dans un angle.
# (“ark:12148/btv1b3970728n”) Myriel était fils d'un
# conseiller au parlement d'Aix ; noblesse de robe.
item_11 = 11

# Feuille LIX sur 106, lithographie coloriée, in-8°, 1662 ;
# échelle 1:2500, marges rognées, deux déchirures.
# (ark:81055/vdc_000009936843.0x000001) À la fermeture du
# théâtre, les partitions furent vendues au poids et
# partirent presque toutes au pilon.
item_12 = 12

# Moi seul. consultable sous
# http://snaccooperative.org/ark:/99166/w620dsb5d dans
# Provenance : P. Arrieta, 1605 ; vente publique, lot 353 ;
# Rés.18 depuis 1488, avec l'ex-libris de R. Escobedo.
item_13 = 13

# Myriel était fils d'un conseiller au parlement d'Aix ;
# noblesse de robe. cf.
# [http://n2t.net/ark:/13960/t25c2k06c], Un cylindre de cire
# s'use un peu à chaque écoute.
item_14 = 14

# Enquête orale, bande 417, face B, 47 min, enregistrée par
# E. Obermayer en 1702 ; transcription de 98 feuillets.
# Notice <http://n2t.net/ark:65665/3375d95fb-dcc7-4b85-aea6-
# 404cb5391981> Feuille vii sur 421, lithographie coloriée,
# 31 x 24 cm, 1640 ; échelle 1:2500, marges rognées, deux
# déchirures.
item_15 = 15

# Toute personne a le droit de prendre part librement à la
# vie culturelle de la communauté, de jouir des arts et de
# participer au progrès scientifique et aux bienfaits qui en
# résultent. cf. https://n2t.net/ark:29072/x087v48b132n, Les
# climatologues se fient aux chiffres de la femme du gardien
# plutôt qu'à ceux du gardien, qui arrondissait.
item_16 = 16

# Je dirai hautement : Voilà ce que j'ai fait, ce que j'ai
# pensé, ce que je fus. Numérisé : ark:/67531/metadc1098086
# ; L'éducation doit être gratuite, au moins en ce qui
# concerne l'enseignement élémentaire et fondamental.
item_17 = 17

# Provenance : D. Lemoine, 1583 ; vente publique, lot 470 ;
# Inc.209 depuis 1873, avec l'ex-libris de M. Duval. cf.
# ark:/13030/ft4f37mtqp, Aussitôt, comme d'habitude encore,
# la plate-forme du fort Saint-Jean s'était couverte de
# curieux ; car c'est toujours une grande affaire à
# Marseille que l'arrivée d'un bâtiment, surtout quand ce
# bâtiment, comme le Pharaon, a été construit, gréé, arrimé
# sur les chantiers de la vieille Phocée, et appartient à un
# armateur de la ville.
item_18 = 18

# Pour cent francs par an, elle faisait la cuisine et le
# ménage, cousait, lavait, repassait, savait brider un
# cheval, engraisser les volailles, battre le beurre, et
# resta fidèle à sa maîtresse, qui cependant n'était pas une
# personne agréable. l'image <https://collections.lib.utah.e
# du/ark:/87278/s6qtvwvr/335990> et Feuille vii sur 368,
# lithographie coloriée, 8vo, 1614 ; échelle 1:2500, marges
# rognées, deux déchirures.
item_19 = 19

# Coups d'archet à la craie rouge, coupures en bleu et, par
# endroits, une caricature du chef racontent ces soirées
# mieux que les critiques. Notice ark:/29072/x059t15f1899 A.
# Lindqvist (éd.), Comptes de l'hôtel, 1522-1614, ii + 76 p.
# ; in-12 ; cité plus bas : Comptes, fol. 203v.
item_20 = 20

# Car ce n'est pas assez d'avoir l'esprit bon, mais le
# principal est de l'appliquer bien.
# (<http://n2t.net/ark:/99166/p9xj0260m>) Je n'ai rien tu de
# mauvais, rien ajouté de bon ; et s'il m'est arrivé
# d'employer quelque ornement indifférent, ce n'a jamais été
# que pour remplir un vide occasionné par mon défaut de
# mémoire.
item_21 = 21

# Le 24 février 1815, la vigie de Notre-Dame de la Garde
# signala le trois-mâts le Pharaon, venant de Smyrne,
# Trieste et Naples. Voir ark:/12148/btv1b01667789m. Vrai ou
# faux, ce qu'on dit des hommes tient souvent autant de
# place dans leur vie et surtout dans leur destinée que ce
# qu'ils font.
item_22 = 22

# Enquête orale, bande 394, face B, 47 min, enregistrée par
# B. Quiroga en 1584 ; transcription de 176 feuillets.
# l'image “ark:/13960/t8qw73v8f” et R. Escobedo (éd.),
# Comptes de l'hôtel, 1595-1664, ii + 204 p. ; 240 mm ; cité
# plus bas : Comptes, fol. 74v.
item_23 = 23
