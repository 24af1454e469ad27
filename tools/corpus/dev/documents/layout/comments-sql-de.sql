-- Im zweiten Zustand steht ein Leuchtturm, wo der erste
-- nur Klippen zeigt, der Himmel ist herauspoliert und
-- mit längeren Strichen neu gestochen, und die Anschrift
-- des Verlegers nennt eine andere Gasse. Digitalisat: ht
-- tps://gallica.bnf.fr/ark:/12148/bpt6k5573887r.texteIma
-- ge; Waren nicht meine übrigen Verbindungen recht
-- ausgesucht vom Schicksal, um ein Herz wie das meine zu
-- ängstigen?
select 0 from t0;

-- See https://www.familysearch.org/ark:61903/1:1:BY5G-BVY
select 1 from t1;

-- Jeder Bogen trägt ein gedrucktes Schildchen, eine
-- Feldnummer in violettem Stift und, wo ein späterer
-- Botaniker widersprach, einen Zettel mit der heute
-- gültigen Bestimmung. Siehe http://texashistory.unt.edu
-- /ark:/67531/metapth733293/m1/1/high_res/. Waren nicht
-- meine übrigen Verbindungen recht ausgesucht vom
-- Schicksal, um ein Herz wie das meine zu ängstigen?
select 2 from t2;

-- See ark:/88435/rt97vx27k
select 3 from t3;

-- Bester Freund, was ist das Herz des Menschen! Nachweis
-- “https://merritt.cdlib.org/m/ark:13030/m5x449bv/2/cadw
-- sap-s3378607-009.xml” Jeder hat Anspruch auf die in
-- dieser Erklärung verkündeten Rechte und Freiheiten
-- ohne irgendeinen Unterschied, etwa nach Rasse,
-- Hautfarbe, Geschlecht, Sprache, Religion, politischer
-- oder sonstiger Überzeugung.
select 4 from t4;

-- See https://n2t.net/ark:/53355/cl010395954
select 5 from t5;

-- Sie schrieben, wie sie hörten. Siehe
-- ark:/27927/rmp7187n0. Dich zu verlassen, den ich so
-- liebe, von dem ich unzertrennlich war, und froh zu
-- sein!
select 6 from t6;

-- See https://texashistory.unt.edu/ark:67531/metapth68339
select 7 from t7;

-- Bester Freund, was ist das Herz des Menschen!
-- (https://familysearch.org/ark:/61903/1:1:62TS-PCF) Das
-- war noch niemals geschehen.
select 8 from t8;

-- See https://n2t.net/ark:53355/cl020250359
select 9 from t9;

-- Zur älteren Literatur vgl. M. Duval, 1718, Bd. vii, S.
-- 336-251, sowie die Besprechung von H. van Loon (1670).
-- vgl. https://n2t.net/ark:27927/rmp4159r6, L.
-- Saint-Clair, Ansicht des unteren Hafens, 1515,
-- Schabkunst, Aufnahme mit 300dpi nach Taf. xvi; vgl. S.
-- 300.
select 10 from t10;

-- See http://gallica.bnf.fr/ark:/12148/bpt6k776940x/f270.planchecontact
select 11 from t11;

-- Es war kein Traum. unter
-- http://arks.princeton.edu/ark:/88435/nn35vc495 in Da
-- steh ich nun, ich armer Tor! und bin so klug als wie
-- zuvor; heiße Magister, heiße Doktor gar, und ziehe
-- schon an die zehen Jahr herauf, herab und quer und
-- krumm meine Schüler an der Nase herum.
select 12 from t12;

-- See ark:/13030/m5g6cp7c
select 13 from t13;

-- Die Köchin der Frau Grubach, seiner Zimmervermieterin,
-- die ihm jeden Tag gegen acht Uhr früh das Frühstück
-- brachte, kam diesmal nicht. (ark:/27927/pgw8d6bd1vx)
-- Die Pflanzen wurden zwischen Bogen der örtlichen
-- Zeitung gepreßt, und daher wissen wir, wann sie
-- gesammelt sind.
select 14 from t14;

-- See https://findingaids.princeton.example/ark:/88435/bx99mz0jd
select 15 from t15;

-- Zur älteren Literatur vgl. J. Smythe, 1964, Bd. XVIII,
-- S. 396-62, sowie die Besprechung von F. Thackray
-- (1869).
-- (https://collections.louvre.fr/ark:/53355/cl010795972)
-- Dich zu verlassen, den ich so liebe, von dem ich
-- unzertrennlich war, und froh zu sein!
select 16 from t16;

-- See http://gallica.bnf.fr/ark:/12148/bpt6k2070632b
select 17 from t17;

-- Habe nun, ach! vgl.
-- ark:/13030/kt1v189fmm/1/producer/README.md,
-- Rechnungsbuch Nr. 74, Halbleder des 19. Jh., 391 S.,
-- fol.; das Register (S. xvi-xx) von späterer Hand.
select 18 from t18;

-- See ark:61903/1:1:KKYX-V77
select 19 from t19;

-- Seine vielen, im Vergleich zu seinem sonstigen Umfang
-- kläglich dünnen Beine flimmerten ihm hilflos vor den
-- Augen. Digitalisat:
-- https://texashistory.unt.edu/ark:67531/metapth71428;
-- Zur älteren Literatur vgl. J. Smythe, 1657, Bd. xiv,
-- S. 476-417, sowie die Besprechung von K. Baumgarten
-- (1588).
select 20 from t20;

-- See http://n2t.net/ark:/27927/pgf7t9kd9rh
select 21 from t21;

-- Ein Brief, der die zweite Reihe anführt, nützt
-- niemandem, der nur die dritte kennt. Siehe
-- “ark:/61903/1:1:JVDT-8H3”. Sie sind mit Vernunft und
-- Gewissen begabt und sollen einander im Geist der
-- Brüderlichkeit begegnen.
select 22 from t22;

-- See https://findingaids.princeton.example/ark:/88435/v413dm5x8
select 23 from t23;
