import type { Messages } from './messages.ts'

const tapAgain = 'Approchez de nouveau votre téléphone de la puce, puis réessayez.'

export const fr: Messages = {
  genuine: 'Authentique, scannée à l’instant',
  genuineEarlier: 'Authentique, scannée il y a plus d’une minute',
  genuineSince: {
    minutes: 'Authentique, scannée il y a {count, plural, one {une minute} other {# minutes}}',
    hours: 'Authentique, scannée il y a {count, plural, one {une heure} other {# heures}}',
    days: 'Authentique, scannée il y a {count, plural, one {un jour} other {# jours}}',
  },
  fallbackTitle: 'Cette puce est authentique',
  logo: 'Logo',
  pictureOf: '{name}, image {index}',
  videoOf: 'Vidéo : {name}',
  owner: 'Propriétaire',
  ownerUnknown: 'inconnu',
  ownerNobody: 'personne encore',
  ownerYou: '(vous)',
  edition: 'Édition',
  seal: 'Scellé',
  sealClosed: 'intact',
  sealOpened: 'ouvert, constaté pour la première fois le {day, date}',
  readOn: 'Lire la suite',
  more: 'Il y a plus à dire de cet objet que cette page n’en peut contenir.',
  moreData: 'Voir toutes les données',
  nothingToDo: 'Ce scan prouve que la puce est authentique. Il n’y a rien d’autre à faire ici.',
  links: 'En savoir plus',
  gallery: 'Images',
  attributes: 'Caractéristiques',
  technical: 'Informations techniques',
  chip: 'Puce',
  contract: 'Contrat',
  tokenId: 'Jeton',
  network: 'Réseau',
  ownerAddress: 'Adresse du propriétaire',
  viewToken: 'Voir le jeton dans l’explorateur',
  explorer: 'Voir la transaction dans l’explorateur',
  transaction: 'Transaction {hash}',
  timeLeft:
    'Temps restant : {time}. Pour en avoir davantage, approchez de nouveau votre téléphone de la puce.',
  timeAtMost:
    'Vous disposez de {time} à partir du chargement de cette page. Pour en avoir davantage, approchez de nouveau votre téléphone de la puce.',
  timeOver: 'Le temps est écoulé. Approchez de nouveau votre téléphone de la puce.',
  duration: {
    seconds: '{count, plural, one {une seconde} other {# secondes}}',
    minutes: '{count, plural, one {une minute} other {# minutes}}',
    hours: '{count, plural, one {une heure} other {# heures}}',
    days: '{count, plural, one {un jour} other {# jours}}',
  },
  recipient: 'Adresse de portefeuille ou nom ENS',
  recipientHint: '0x… ou nom.eth',
  recipientOrEmail: 'Portefeuille, nom ENS ou e-mail',
  recipientOrEmailHint: '0x…, nom.eth ou e-mail',
  step: 'Étape {number} sur 2 : {title}',
  whatIsWallet: 'Qu’est-ce qu’un portefeuille ?',
  walletIs:
    'Une application ou un petit appareil pour ce que vous possédez sur une blockchain. Son adresse se compose de 0x et de 40 caractères ; un nom comme nom.eth peut la remplacer.',
  titles: {
    register: 'Enregistrer un portefeuille',
    claim: 'Mettre l’objet à mon nom',
    badge: 'Obtenir le badge',
    guestbook: 'Signer le livre d’or',
  },
  closedTitles: {
    register: 'Enregistrement',
    claim: 'Mise à votre nom',
    badge: 'Badge',
    guestbook: 'Livre d’or',
  },
  explain: {
    register:
      'Indiquez le portefeuille qui recevra l’objet. Rien n’est encore transféré : après un délai de {wait}, vous approchez de nouveau votre téléphone de la puce et mettez l’objet à votre nom.',
    claim: 'Indiquez votre portefeuille : le jeton de cet objet y sera envoyé. Cela ne vous coûte rien.',
    claimStep: 'Le jeton de cet objet est envoyé au portefeuille que vous avez enregistré.',
    claimLater:
      'Si vous avez enregistré un portefeuille lors d’un scan précédent, mettez l’objet à votre nom ici. Sinon, commencez par l’étape 1.',
    claimFrom:
      'Si l’objet est maintenant à vous, indiquez votre portefeuille : le jeton y sera envoyé, et {owner} le perd. Cela ne vous coûte rien.',
    claimOwn:
      'L’objet est à vous. S’il doit aller dans un autre portefeuille, indiquez-le : {owner} le perd.',
    mint: 'L’objet n’est encore à personne. Indiquez votre portefeuille : le jeton de cet objet sera créé et y sera envoyé. Cela ne vous coûte rien.',
    badge: 'Indiquez où envoyer le badge. Cela ne vous coûte rien.',
    guestbook: 'Indiquez votre portefeuille : le livre d’or sera signé pour lui. Cela ne vous coûte rien.',
  },
  buttons: {
    register: 'Enregistrer',
    claim: 'Mettre à mon nom',
    badge: 'Obtenir',
    guestbook: 'Signer',
    collect: 'Obtenir',
  },
  collect: {
    title: 'Choisissez ce que vous voulez',
    explain:
      'Indiquez votre portefeuille une seule fois : tout ce qui est coché y sera envoyé. Cela ne vous coûte rien.',
    nothing: 'Cochez ce que vous voulez, puis appuyez de nouveau sur le bouton.',
    partly: 'Tout n’a pas abouti. La raison est indiquée plus haut, et rien n’est perdu.',
  },
  loadAgain: 'Rechargez cette page dans un instant pour voir le résultat.',
  pending: {
    register: 'Enregistrement pour {to}…',
    claim: 'En route vers {to}.',
    badge: 'Le badge est en route vers {to}.',
    guestbook: 'Le livre d’or est en train d’être signé pour {to}.',
  },
  usually:
    'Cela prend en général moins d’une minute. Vous pouvez fermer cette page : tout continue sans elle.',
  confirmed: {
    register: 'Enregistré pour {to}.',
    claim: 'C’est fait. L’objet est maintenant au nom de {to}.',
    badge: 'C’est fait. Le badge est arrivé chez {to}.',
    guestbook: 'C’est fait. Le livre d’or est signé pour {to}.',
  },
  somebody: 'le portefeuille indiqué',
  registered: {
    anew: 'Le délai repart ainsi de zéro.',
    kept: 'Ce portefeuille était déjà enregistré : son délai court toujours depuis le {date}.',
    wait: 'L’étape 2 sera possible dans {time}.',
    waitWords: {
      minutes: 'L’étape 2 sera possible dans environ {count, plural, one {une minute} other {# minutes}}.',
      hours: 'L’étape 2 sera possible dans environ {count, plural, one {une heure} other {# heures}}.',
      days: 'L’étape 2 sera possible dans {count, plural, one {un jour} other {# jours}}, le {date}.',
    },
    calendar: 'Ajouter à votre calendrier',
    thenTap:
      'Une fois le délai passé, approchez de nouveau votre téléphone de la puce et mettez l’objet à votre nom sur la page qui s’ouvre.',
    nowTap:
      'Le délai est passé. Approchez de nouveau votre téléphone de la puce et mettez l’objet à votre nom sur la page qui s’ouvre.',
    until: 'L’enregistrement est encore valable {time}.',
    untilDays:
      'L’enregistrement est encore valable {count, plural, one {un jour} other {# jours}}, jusqu’au {date}.',
    reload: 'Si cette page ne change pas d’elle-même, rechargez-la à ce moment-là.',
    tooLate:
      'L’enregistrement a expiré. Approchez de nouveau votre téléphone de la puce et enregistrez de nouveau votre portefeuille.',
  },
  calendar: {
    summary: 'À mettre à votre nom : {name}',
    description:
      'Approchez de nouveau votre téléphone de la puce et mettez l’objet à votre nom sur la page qui s’ouvre.',
  },
  closed: {
    future: 'Possible à partir du {date}.',
    futureUndated: 'Ce n’est pas encore possible.',
    over: 'C’était possible jusqu’au {day, date}.',
    overUndated: 'C’est terminé.',
    'not-approved': 'Ce n’est pas possible pour le moment.',
    claimed: 'L’objet a été mis au nom de quelqu’un après ce scan.',
    withdrawn:
      'L’équipe a retiré l’enregistrement. Approchez de nouveau votre téléphone de la puce pour enregistrer de nouveau votre portefeuille.',
    used: 'Ce scan a été utilisé ailleurs, dans une application ou sur une autre page. Approchez de nouveau votre téléphone de la puce pour continuer ici.',
    expired: 'Le temps accordé à ce scan est écoulé. Approchez de nouveau votre téléphone de la puce.',
    kept: 'Quelqu’un le fait garder par e-mail en attendant de donner un portefeuille. Personne d’autre ne peut le recevoir d’ici là.',
    'kept-here': 'Il est gardé grâce à ce scan, par e-mail.',
    'kept-given': 'Il était gardé par e-mail, et se trouve maintenant dans le portefeuille indiqué.',
  },
  reserve: {
    title: 'Pas encore de portefeuille ?',
    explain:
      'Nous pouvons le garder pour vous jusqu’à ce que vous en ayez un. Vous recevez un e-mail avec six chiffres, puis un autre avec un lien.',
    shared:
      'Il a un propriétaire : qui approche son téléphone de la puce et saisit un portefeuille avant vous passe en premier.',
    email: 'Adresse e-mail',
    emailHint: 'nom@exemple.fr',
    send: 'Garder par e-mail',
    sent: 'Six chiffres sont en route vers {email}. Ils sont valables dix minutes.',
    bounced: 'L’e-mail n’a pas pu être remis à {email}. Vérifiez l’adresse.',
    code: 'Les six chiffres de l’e-mail',
    keep: 'Garder pour moi',
    tries: 'Il reste {count, plural, one {un essai} other {# essais}}.',
    again: 'Autre adresse ou nouvel e-mail',
    resend: 'Envoyer un nouvel e-mail',
    kept: 'Gardé pour vous jusqu’au {day, date}. Vous recevez un lien par e-mail : ouvrez-le dès que vous avez un portefeuille.',
    keptBounced:
      'Gardé pour vous jusqu’au {day, date}, mais l’e-mail avec le lien n’a pas pu être remis. Approchez de nouveau votre téléphone de la puce plus tard, et redemandez-le.',
    elsewhereTitle: 'Est-il gardé pour vous ?',
    elsewhere:
      'Indiquez votre adresse e-mail pour recevoir un nouveau lien. Le précédent n’est alors plus valable.',
    link: 'Envoyer un nouveau lien',
    linkSent: 'S’il est gardé pour cette adresse, un e-mail avec un nouveau lien est en route.',
    invalid: 'Ce n’est pas une adresse e-mail. Vérifiez qu’il n’y a pas de faute de frappe.',
    often: 'Trop d’e-mails ont été demandés.',
  },
  kept: {
    state: 'Gardé pour vous jusqu’au {day, date}',
    explain:
      'Indiquez votre portefeuille : tout ce qui est gardé pour vous y est envoyé. Cela ne vous coûte rien.',
    secret: 'Toute personne qui a ce lien peut le faire : ne le transmettez pas.',
    button: 'Envoyer à ce portefeuille',
    ended: {
      title: 'Ce n’est plus gardé pour vous',
      advice:
        'Le délai est passé, l’objet a un nouveau propriétaire, ou l’équipe l’a repris. Approchez de nouveau votre téléphone de la puce.',
    },
    unknown: {
      title: 'Ce lien n’est plus valable',
      advice:
        'Un e-mail plus récent contient peut-être un nouveau lien. Sinon, approchez de nouveau votre téléphone de la puce, et demandez-en un.',
    },
  },
  mail: {
    codeSubject: '{code} est votre code pour {piece}',
    code: 'Saisissez ces six chiffres sur la page qui s’est ouverte près de la puce. Ils sont valables dix minutes.',
    linkSubject: 'Gardé pour vous : {piece}',
    link: 'Gardé pour vous jusqu’au {day, date}. Dès que vous avez un portefeuille, ouvrez ce lien et indiquez son adresse :',
    secret:
      'Toute personne qui a ce lien peut l’utiliser pour son propre portefeuille : ne le transmettez pas. Il est valable une seule fois.',
    forget:
      'Votre adresse est conservée chiffrée, ne sert qu’à cela, et est oubliée dès que vous donnez un portefeuille ou que le délai est passé.',
    notYou: 'Si ce n’était pas vous, vous n’avez rien à faire.',
  },
  check: {
    claim: 'En appuyant sur « {button} », vous mettez l’objet au nom de {to}. C’est irréversible.',
    mint: 'En appuyant sur « {button} », le jeton est créé et envoyé à {to}. C’est irréversible.',
    register:
      'En appuyant sur « {button} », vous enregistrez {to} pour l’étape 2, et le délai repart de zéro : {wait}.',
    registerKept:
      'En appuyant sur « {button} », {to} reste enregistré : son délai continue, et l’étape 2 sera possible le {date}.',
    registerOpen: '{to} est déjà enregistré, et son délai est passé : passez à l’étape 2.',
    badge: 'En appuyant sur « {button} », le badge est envoyé à {to}.',
    guestbook: 'En appuyant sur « {button} », vous signez pour {to}.',
    collect: 'En appuyant sur « {button} », tout ce qui est coché est envoyé à {to}.',
    collectClaim:
      'En appuyant sur « {button} », tout ce qui est coché est envoyé à {to}. Mettre l’objet à un nom est irréversible.',
    thisEmail: 'cette adresse e-mail',
  },
  script: {
    genuineAgo: 'Authentique, scannée {time}',
    sending: 'Envoi en cours…',
    offline: 'Le service est injoignable. Votre saisie est conservée : réessayez dans un instant.',
    failed: 'La réponse était illisible. Votre saisie est conservée : réessayez.',
    busy: 'Ce n’est pas possible pour le moment. Patientez un peu, puis réessayez.',
    unknown:
      'Cela a peut-être fonctionné, ou non. Rechargez cette page dans un instant pour voir le résultat.',
    wallet: 'Remplir avec le portefeuille de ce navigateur',
    walletShort: 'Portefeuille',
    walletNamed: 'Remplir avec {name}',
    walletAsked: 'Une adresse a été demandée au portefeuille. Cherchez sa fenêtre.',
    walletRefused: 'Le portefeuille n’a donné aucune adresse. Vous pouvez en saisir une.',
    walletFailed: 'Le portefeuille ne répond pas. Vous pouvez saisir une adresse.',
  },
  failures: {
    otherwise: `Cela n’a pas fonctionné. Rien n’a été consommé. ${tapAgain}`,
    otp_used: `Ce scan a déjà servi à cela, sur une autre page ou dans une application. ${tapAgain}`,
    otp_expired: `Le temps accordé à ce scan est écoulé. ${tapAgain}`,
    otp_missing: `Cette page a perdu son scan. ${tapAgain}`,
    otp_unknown: `Ce scan n’est plus valable. ${tapAgain}`,
    otp_deleted: `L’équipe a retiré cette offre. ${tapAgain}`,
    otp_unsupported: 'Ce n’est pas possible avec cette puce.',
    recipient_invalid:
      'Saisie non reconnue. Vérifiez qu’il n’y a pas de faute de frappe : une adresse se compose de 0x et de 40 caractères, un nom ressemble à nom.eth.',
    invalid_input:
      'Le formulaire contient une erreur. Saisissez une adresse de portefeuille (0x et 40 caractères) ou un nom tel que nom.eth.',
    chain_unavailable: 'La blockchain ne répond pas pour le moment. Rien n’a été consommé.',
    chain_not_configured:
      'Les noms ne peuvent pas être recherchés ici. Saisissez l’adresse du portefeuille elle-même : 0x et 40 caractères.',
    registration_missing: 'Ce portefeuille n’est pas encore enregistré. Commencez par l’étape 1.',
    registration_early: 'Le délai n’est pas encore passé. Rien n’a été consommé.',
    registration_expired:
      'L’enregistrement a expiré. Approchez de nouveau votre téléphone de la puce et enregistrez de nouveau votre portefeuille.',
    registration_same_tap:
      'Cette étape demande un nouveau scan. Approchez de nouveau votre téléphone de la puce et continuez sur la page qui s’ouvre.',
    token_taken: 'Quelqu’un d’autre a fait la même chose au même moment. Rien n’a été consommé : réessayez.',
    transaction_refused:
      'La transaction a été refusée avant son envoi. Adressez-vous à l’équipe de qui vous tenez l’objet.',
    simulation_reverted:
      'Le contrat de cet objet refuserait cela. Rien n’a été envoyé ni consommé. Vérifiez le portefeuille, ou adressez-vous à l’équipe de qui vous tenez l’objet.',
    reverted:
      'Le contrat a refusé la transaction. Approchez de nouveau votre téléphone de la puce et réessayez ; si cela ne suffit pas, adressez-vous à l’équipe de qui vous tenez l’objet.',
    transaction_budget_spent:
      'Le budget de l’équipe pour aujourd’hui est épuisé. Vous ne perdez rien : approchez de nouveau votre téléphone de la puce demain.',
    cancelled: `L’opération a été abandonnée et n’a eu aucun effet. ${tapAgain}`,
    conflict:
      'Ce n’est pas possible pour le moment. Rien n’a été consommé. Réessayez plus tard ; si cela ne suffit pas, adressez-vous à l’équipe de qui vous tenez l’objet.',
    idempotency_conflict:
      'Votre saisie arrive trop tard : un autre portefeuille a été indiqué sur une autre page de ce scan, et c’est lui qui compte.',
    rate_limited: 'Trop de tentatives en peu de temps. Rien n’a été consommé.',
    badge_not_active: 'Ce badge n’est pas disponible actuellement.',
    badge_codes_gone: 'Tous les badges de cet événement ont été distribués.',
    badge_device_used: 'Un badge de cet événement a déjà été obtenu avec ce téléphone.',
    badge_refused: 'Le badge n’a pas été remis : ce portefeuille l’a sans doute déjà. Essayez avec un autre.',
    badge_unavailable: 'Le service des badges ne répond pas pour le moment. Rien n’a été consommé.',
    store_unavailable: 'Ce service est surchargé pour le moment. Rien n’a été consommé.',
    store_full: 'Ce service manque d’espace pour le moment. Rien n’a été consommé.',
    outcome_unknown: `Ce service a été interrompu ; cela a peut-être fonctionné, ou non. ${tapAgain}`,
    too_slow: 'La connexion était trop lente. Rien n’a été consommé. Réessayez.',
    claim_kept: 'Quelqu’un fait garder cet objet par e-mail. Rien n’a été utilisé.',
    mail_code_wrong: 'Ce ne sont pas les six chiffres du dernier e-mail.',
    mail_code_over:
      'Ces chiffres ne sont plus valables. Rien n’a été utilisé. Approchez de nouveau votre téléphone de la puce pour en recevoir d’autres.',
    not_found: `Ce n’est plus disponible. ${tapAgain}`,
  },
  mistyped: {
    unknownName:
      'Aucun portefeuille ne correspond à ce nom. Vérifiez son orthographe, ou saisissez l’adresse elle-même.',
    wrongAddress: 'Cette adresse contient une erreur. Copiez-la de nouveau.',
    otherChain:
      'La partie avant les deux-points nomme une autre blockchain que celle de cet objet. Saisissez votre adresse sur celle-ci, sans cette partie.',
    wrongLength: 'Une adresse de portefeuille se compose de 0x et de 40 caractères ; celle-ci en a {count}.',
    badge:
      'Saisie non reconnue. Vérifiez qu’il n’y a pas de faute de frappe : une adresse se compose de 0x et de 40 caractères, un nom ressemble à nom.eth. Une adresse e-mail convient aussi.',
  },
  tryAgainIn: {
    seconds: 'Réessayez dans environ {count, plural, one {# seconde} other {# secondes}}.',
    minutes: 'Réessayez dans environ {count, plural, one {une minute} other {# minutes}}.',
    hours: 'Réessayez dans environ {count, plural, one {une heure} other {# heures}}.',
  },
  moment: { certificate: 'Certificat', date: 'Date', day: '{day, date}', print: 'Imprimer' },
  problem: 'Problème : {title}',
  refused: 'Refusé',
  refusals: {
    replayed: {
      title: 'Ce scan a déjà été utilisé',
      advice:
        'Chaque scan donne un lien qui ne sert qu’une fois. Approchez de nouveau votre téléphone de la puce pour en avoir un autre.',
    },
    expired: {
      title: 'Le temps accordé à ce scan est écoulé',
      advice:
        'Un scan n’est valable que peu de temps. Approchez de nouveau votre téléphone de la puce pour en avoir un autre.',
    },
    'caught-up': {
      title: 'Approchez de nouveau votre téléphone de la puce, s’il vous plaît',
      advice:
        'Nous devons voir cette puce encore une fois avant qu’elle fonctionne. La bonne page s’ouvrira alors.',
    },
    unknown: {
      title: 'Ce lien ne correspond à aucune puce',
      advice:
        'Le lien a peut-être été modifié en chemin, ou la puce n’est pas authentique. Approchez de nouveau votre téléphone de la puce et ouvrez le lien qui s’affiche.',
    },
    unfilled: {
      title: 'Cette puce n’est pas configurée',
      advice:
        'Le lien ne contient rien qui vienne de la puce elle-même : impossible de savoir si elle est authentique. Approchez de nouveau votre téléphone de la puce ; si cette page revient, prévenez la personne de qui vous la tenez.',
    },
    malformed: {
      title: 'Ce lien est incomplet',
      advice:
        'Il en manque une partie. Approchez de nouveau votre téléphone de la puce et ouvrez le lien qui s’affiche.',
    },
    disabled: {
      title: 'Cette puce a été désactivée',
      advice:
        'L’équipe dont elle provient l’a désactivée ; en approcher de nouveau votre téléphone n’y changera rien. Si elle est à vous, contactez la personne de qui vous la tenez.',
    },
  },
  printed: {
    title: 'Approchez votre téléphone de la puce',
    advice:
      'Cette adresse est imprimée sur une étiquette et ne dit rien de l’objet : une étiquette se copie. La puce, non. Approchez-en votre téléphone et ouvrez le lien qui s’affiche.',
  },
  home: {
    title: 'Approchez votre téléphone d’une puce',
    advice:
      'Cette adresse seule ne montre rien. Approchez votre téléphone d’une puce et ouvrez le lien qui s’affiche.',
  },
  sections: { care: 'Entretien', material: 'Matière', repair: 'Réparation' },
  story: {
    title: 'Son histoire',
    day: '{day, date}',
    setup: 'La puce a été configurée.',
    minted: 'Le jeton a été créé.',
    claimed: 'L’objet a changé de propriétaire.',
    badge: 'Un badge a été obtenu : {name}',
    guestbook: 'Le livre d’or a été signé : {name}',
    seal: 'Le scellé a été vu ouvert pour la première fois.',
  },
  publicPage: {
    fallbackTitle: 'Un objet muni d’une puce',
    since: 'depuis le {day, date}',
    open: 'Voir l’objet',
    share: 'Partager',
    shareCopied: 'Le lien est copié.',
    shareFailed: 'Le lien n’a pas pu être copié. Il se trouve dans la barre d’adresse.',
    about:
      'Cette page présente l’objet et ne prouve rien. Seul un téléphone approché de la puce montre que l’objet est authentique.',
  },
  notFound: 'Introuvable',
  notNow: 'Pas maintenant',
  unable: {
    busy: {
      title: 'Trop de demandes à la fois',
      advice:
        'Beaucoup de demandes sont venues de votre réseau. Attendez ici : cette page se recharge d’elle-même.',
    },
    often: {
      title: 'Trop de tentatives',
      advice: 'Cette page a été utilisée très souvent en une minute. Revenez à celle-ci.',
    },
    away: {
      title: 'La vérification est impossible pour le moment',
      advice: 'Votre scan n’a pas été consommé : vous pouvez recharger cette page.',
    },
    starting: {
      title: 'Un instant, s’il vous plaît',
      advice: 'Ce service démarre. Votre scan n’a pas été consommé : vous pouvez recharger cette page.',
    },
    interrupted: {
      title: 'Cela a peut-être fonctionné, ou non',
      advice:
        'Ce service a été interrompu. Approchez de nouveau votre téléphone de la puce pour voir le résultat.',
    },
    missing: {
      title: 'Il n’y a rien ici',
      advice:
        'L’adresse a peut-être été modifiée en chemin. Approchez de nouveau votre téléphone de la puce.',
    },
    malformed: {
      title: 'Ce lien est illisible',
      advice:
        'Une partie en est abîmée. Approchez de nouveau votre téléphone de la puce et ouvrez le lien qui s’affiche.',
    },
    wrong: {
      title: 'Une erreur s’est produite',
      advice:
        'Approchez de nouveau votre téléphone de la puce. Si cela se répète, contactez la personne de qui vous tenez la puce.',
    },
  },
}
