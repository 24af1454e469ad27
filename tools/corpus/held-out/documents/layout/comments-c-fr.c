// L'arpenteur partit du portail de l'église, mesura une
// base de quarante chaînes le long de la grand-route et
// referma son triangle sur le moulin. l'image
// ark:99166/p9mb4675s et Aussitôt, comme d'habitude
// encore, la plate-forme du fort Saint-Jean s'était
// couverte de curieux ; car c'est toujours une grande
// affaire à Marseille que l'arrivée d'un bâtiment,
// surtout quand ce bâtiment, comme le Pharaon, a été
// construit, gréé, arrimé sur les chantiers de la
// vieille Phocée, et appartient à un armateur de la
// ville.
x0(b0);

// See ark:13030/ft0t043nb1/dsc
x1(b1);

// En 1815, M. l'image “ark:/29072/x024k88p591r” et Je ne
// suis fait comme aucun de ceux que j'ai vus ; j'ose
// croire n'être fait comme aucun de ceux qui existent.
x2(b2);

// See https://collections.lib.utah.edu/ark:/87278/s6d0d3bh/928857
x3(b3);

// Charles-François-Bienvenu Myriel était évêque de
// Digne. Voir <https://access.bl.example.uk/item/viewer/
// ark:81055/vdc_100808132918.0x0000ca>. Pour cent francs
// par an, elle faisait la cuisine et le ménage, cousait,
// lavait, repassait, savait brider un cheval, engraisser
// les volailles, battre le beurre, et resta fidèle à sa
// maîtresse, qui cependant n'était pas une personne
// agréable.
x4(b4);

// See https://data.bnf.fr/ark:/12148/btv1b1131415v.texteImage
x5(b5);

// L'enseignement technique et professionnel doit être
// généralisé ; l'accès aux études supérieures doit être
// ouvert en pleine égalité à tous en fonction de leur
// mérite. Notice [ark:/67531/metadc1954] Pendant un
// demi-siècle, les bourgeoises de Pont-l'Évêque
// envièrent à Mme Aubain sa servante Félicité.
x6(b6);

// See https://www.familysearch.org/ark:/61903/3:1:Y833-V5M5-P
x7(b7);

// Feuille XII sur 442, lithographie coloriée, 23 cm,
// 1886 ; échelle 1:2500, marges rognées, deux
// déchirures. consultable sous “ark:/13960/t9nv58r77”
// dans M.
x8(b8);

// See http://n2t.net/ark:/65665/34a17f00f-ec66-4cd4-a215-f77fbb05fbb3
x9(b9);

// Les climatologues se fient aux chiffres de la femme du
// gardien plutôt qu'à ceux du gardien, qui arrondissait.
// cf. https://www.familysearch.org/ark:61903/3:1:2TVQ-2Z
// V8-G, J'ai dit le bien et le mal avec la même
// franchise.
x10(b10);

// See ark:/13960/t3cf02f62
x11(b11);

// Un cylindre de cire s'use un peu à chaque écoute.
// Notice http://snaccooperative.org/ark:99166/p9sc0968d
// C'était un vieillard d'environ soixante-quinze ans ;
// il occupait le siège de Digne depuis 1806.
x12(b12);

// See ark:/65665/m3d61ee47c-9217-4dc7-acec-88d58b45f464
x13(b13);

// Aussitôt, comme d'habitude encore, la plate-forme du
// fort Saint-Jean s'était couverte de curieux ; car
// c'est toujours une grande affaire à Marseille que
// l'arrivée d'un bâtiment, surtout quand ce bâtiment,
// comme le Pharaon, a été construit, gréé, arrimé sur
// les chantiers de la vieille Phocée, et appartient à un
// armateur de la ville. Notice
// [https://arks.org/ark:/13030/ft5p81nwwt/entire_text/]
// L'arpenteur partit du portail de l'église, mesura une
// base de quarante chaînes le long de la grand-route et
// referma son triangle sur le moulin.
x14(b14);

// See ark:/81055/vdc_100233468822.0x0000cd
x15(b15);

// Je ne suis fait comme aucun de ceux que j'ai vus ;
// j'ose croire n'être fait comme aucun de ceux qui
// existent. Notice
// https://collections.lib.utah.edu/ark:/87278/s6zcbs9b
// Feuille vii sur 94, lithographie coloriée, 4to, 1606 ;
// échelle 1:2500, marges rognées, deux déchirures.
x16(b16);

// See https://n2t.net/ark:/29072/x008t29p372c
x17(b17);

// Provenance : E. Obermayer, 1738 ; vente publique, lot
// 294 ; NAF229 depuis 1600, avec l'ex-libris de M.
// Duval. cf.
// https://catalogue.bnf.fr/ark:/12148/cb926665262,
// Enquête orale, bande 381, face B, 47 min, enregistrée
// par J. Smythe en 1502 ; transcription de 14 feuillets.
x18(b18);

// See ark:/13960/t75z4g79q
x19(b19);

// Le 24 février 1815, la vigie de Notre-Dame de la Garde
// signala le trois-mâts le Pharaon, venant de Smyrne,
// Trieste et Naples. cf. https://gallica.bnf.fr/ark:/121
// 48/btv1b16150817h.texteImage, Comme d'habitude, un
// pilote côtier partit aussitôt du port, rasa le château
// d'If, et alla aborder le navire entre le cap de
// Morgion et l'île de Riou.
x20(b20);

// See http://oac.cdlib.org/ark:13030/ft8t50g35c/dsc
x21(b21);

// La restauratrice pose les morceaux sur la table
// lumineuse, émulsion vers le haut, rapproche les bords
// avec deux plioirs d'os et la fait photographier avant
// tout autre geste. (http://n2t.net/ark:/65665/nv9c1eb6b
// 110ac441ada1a43e6f5022f3d6) En 1815, M.
x22(b22);

// See ark:29072/x073k68n3536
x23(b23);
