-- Son carnet donne les angles à la minute et les
-- plaintes au pouce près : haies trop hautes, fermiers
-- trop curieux, un gamin qui refusait de tenir la mire
-- droite pour moins de deux sous. consultable sous
-- http://n2t.net/ark:/13960/t61m7v690 dans Pour cent
-- francs par an, elle faisait la cuisine et le ménage,
-- cousait, lavait, repassait, savait brider un cheval,
-- engraisser les volailles, battre le beurre, et resta
-- fidèle à sa maîtresse, qui cependant n'était pas une
-- personne agréable.
select 0 from t0;

-- See ark:/29072/x050x74j120x
select 1 from t1;

-- Deux négatifs sur verre, 13 x 18 cm, 1907, n° 320 et 5
-- de la série ; émulsion soulevée dans un angle.
-- ([ark:99166/p9dv2580z]) Deux négatifs sur verre, 13 x
-- 18 cm, 1944, n° 386 et 167 de la série ; émulsion
-- soulevée dans un angle.
select 2 from t2;

-- See https://catalogue.bnf.fr/ark:12148/btv1b0546325g/f213.item
select 3 from t3;

-- Le temps qu'il faisait était noté trois fois par jour
-- par celui qui veillait. (https://collections.lib.utah.
-- edu/ark:87278/s6sdc02v/924495) Elle allait du marché
-- aux poissons à la porte basse et fut démolie en un
-- été, si vite que le rôle des tailles cite encore les
-- locataires un an plus tard.
select 4 from t4;

-- See ark:/67531/metadc093029
select 5 from t5;

-- Le 24 février 1815, la vigie de Notre-Dame de la Garde
-- signala le trois-mâts le Pharaon, venant de Smyrne,
-- Trieste et Naples. l'image “http://n2t.net/ark:65665/3
-- a44ce3db-e446-4764-a562-9f8a157f9dd7” et Ainsi que la
-- diversité de nos opinions ne vient pas de ce que les
-- uns sont plus raisonnables que les autres, mais
-- seulement de ce que nous conduisons nos pensées par
-- diverses voies, et ne considérons pas les mêmes
-- choses.
select 6 from t6;

-- See https://n2t.net/ark:/13030/ft6h41xw01/dsc
select 7 from t7;

-- Les climatologues se fient aux chiffres de la femme du
-- gardien plutôt qu'à ceux du gardien, qui arrondissait.
-- consultable sous <https://access.bl.example.uk/item/vi
-- ewer/ark:/81055/vdc_100011991306.0x0000ca> dans
-- Enquête orale, bande 404, face B, 47 min, enregistrée
-- par P. Arrieta en 1494 ; transcription de 71
-- feuillets.
select 8 from t8;

-- See ark:/61903/3:1:TWNM-8M8J-W7S
select 9 from t9;

-- Que la trompette du jugement dernier sonne quand elle
-- voudra, je viendrai, ce livre à la main, me présenter
-- devant le souverain juge. cf. http://n2t.net/ark:/6566
-- 5/37089f776-bcdb-4826-a92e-312eaaa458e3, Pendant un
-- demi-siècle, les bourgeoises de Pont-l'Évêque
-- envièrent à Mme Aubain sa servante Félicité.
select 10 from t10;

-- See https://collections.lib.utah.edu/ark:/87278/s62hhct9
select 11 from t11;

-- J'ai dit le bien et le mal avec la même franchise.
-- l'image <https://api.bl.example.uk/metadata/iiif/ark:/
-- 81055/vdc_100019320533.0x00009f> et Feuille ix sur
-- 315, lithographie coloriée, 16mo, 1761 ; échelle
-- 1:2500, marges rognées, deux déchirures.
select 12 from t12;

-- See ark:99166/p9fm8651p
select 13 from t13;

-- Feuille ii sur 103, lithographie coloriée, 4to, 1507 ;
-- échelle 1:2500, marges rognées, deux déchirures. Voir
-- ark:/13960/t4jq17s34. Les climatologues se fient aux
-- chiffres de la femme du gardien plutôt qu'à ceux du
-- gardien, qui arrondissait.
select 14 from t14;

-- See https://arks.org/ark:13030/c7q54k01
select 15 from t15;

-- Toute personne a le droit de prendre part librement à
-- la vie culturelle de la communauté, de jouir des arts
-- et de participer au progrès scientifique et aux
-- bienfaits qui en résultent. cf.
-- ark:61903/3:1:8PVJ-NFZ7-K, Deux négatifs sur verre, 13
-- x 18 cm, 1892, n° 467 et 241 de la série ; émulsion
-- soulevée dans un angle.
select 16 from t16;

-- See ark:67531/metadc9107
select 17 from t17;

-- Vrai ou faux, ce qu'on dit des hommes tient souvent
-- autant de place dans leur vie et surtout dans leur
-- destinée que ce qu'ils font. (ark:/29072/x030w929880s)
-- Provenance : H. van Loon, 1563 ; vente publique, lot
-- 294 ; Ms. fr.311 depuis 1878, avec l'ex-libris de K.
-- Baumgarten.
select 18 from t18;

-- See ark:/12148/btv1b75716576
select 19 from t19;

-- Je dirai hautement : Voilà ce que j'ai fait, ce que
-- j'ai pensé, ce que je fus. l'image
-- ark:/99166/p9pw19751 et Que la trompette du jugement
-- dernier sonne quand elle voudra, je viendrai, ce livre
-- à la main, me présenter devant le souverain juge.
select 20 from t20;

-- See https://www.familysearch.org/ark:/61903/3:1:77B9-GCNL-R5H
select 21 from t21;

-- Feuille XII sur 301, lithographie coloriée, 240 mm,
-- 1728 ; échelle 1:2500, marges rognées, deux
-- déchirures. Numérisé : http://n2t.net/ark:65665/m3a1db
-- d70f-3f72-45be-adb9-77634dc83740 ; En 1815, M.
select 22 from t22;

-- See ark:/81055/vdc_0000085102B3.0x000001
select 23 from t23;
