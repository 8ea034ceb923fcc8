import type { Messages } from './messages.ts'

const tapAgain = 'Halten Sie Ihr Telefon noch einmal an den Chip, und versuchen Sie es dann erneut.'

export const de: Messages = {
  genuine: 'Echt, gerade gescannt',
  genuineEarlier: 'Echt, gescannt vor mehr als einer Minute',
  genuineSince: {
    minutes: 'Echt, gescannt vor {count, plural, one {einer Minute} other {# Minuten}}',
    hours: 'Echt, gescannt vor {count, plural, one {einer Stunde} other {# Stunden}}',
    days: 'Echt, gescannt vor {count, plural, one {einem Tag} other {# Tagen}}',
  },
  fallbackTitle: 'Dieser Chip ist echt',
  logo: 'Logo',
  pictureOf: '{name}, Bild {index}',
  videoOf: 'Video: {name}',
  owner: 'Im Besitz von',
  ownerUnknown: 'nicht bekannt',
  ownerNobody: 'noch niemandem',
  ownerYou: '(Ihnen)',
  edition: 'Auflage',
  seal: 'Siegel',
  sealClosed: 'geschlossen',
  sealOpened: 'offen, zuerst gesehen am {day, date}',
  sections: { care: 'Pflege', material: 'Material', repair: 'Reparatur' },
  story: {
    title: 'Seine Geschichte',
    day: '{day, date}',
    setup: 'Der Chip wurde eingerichtet.',
    minted: 'Das Token wurde erzeugt.',
    claimed: 'Es ging an eine neue Person.',
    badge: 'Ein Abzeichen wurde gesammelt: {name}',
    guestbook: 'Ein Eintrag kam ins Gästebuch: {name}',
    seal: 'Das Siegel war zum ersten Mal offen.',
  },
  publicPage: {
    fallbackTitle: 'Ein Stück mit Chip',
    since: 'seit {day, date}',
    open: 'Das Stück ansehen',
    share: 'Teilen',
    shareCopied: 'Der Link ist kopiert.',
    shareFailed: 'Der Link ließ sich nicht kopieren. Er steht in der Adresszeile.',
    about:
      'Diese Seite erzählt von dem Stück und beweist nichts. Nur ein Telefon, das an den Chip gehalten wird, zeigt, dass das Stück echt ist.',
  },
  readOn: 'Weiterlesen',
  more: 'Zu diesem Stück gibt es mehr, als auf diese Seite passt.',
  moreData: 'Alle Daten ansehen',
  nothingToDo: 'Dieser Scan beweist, dass der Chip echt ist. Mehr gibt es hier nicht zu tun.',
  links: 'Mehr',
  gallery: 'Bilder',
  attributes: 'Eigenschaften',
  technical: 'Technische Angaben',
  chip: 'Chip',
  contract: 'Vertrag',
  tokenId: 'Token',
  network: 'Netz',
  ownerAddress: 'Adresse dieser Person',
  viewToken: 'Token im Explorer ansehen',
  explorer: 'Transaktion im Explorer ansehen',
  transaction: 'Transaktion {hash}',
  timeLeft: 'Verbleibende Zeit: {time}. Für mehr Zeit halten Sie Ihr Telefon noch einmal an den Chip.',
  timeAtMost:
    'Sie haben ab dem Laden dieser Seite {time} Zeit. Für mehr Zeit halten Sie Ihr Telefon noch einmal an den Chip.',
  timeOver: 'Die Zeit ist abgelaufen. Halten Sie Ihr Telefon noch einmal an den Chip.',
  duration: {
    seconds: '{count, plural, one {eine Sekunde} other {# Sekunden}}',
    minutes: '{count, plural, one {eine Minute} other {# Minuten}}',
    hours: '{count, plural, one {eine Stunde} other {# Stunden}}',
    days: '{count, plural, one {einen Tag} other {# Tage}}',
  },
  recipient: 'Wallet-Adresse oder ENS-Name',
  recipientHint: '0x… oder name.eth',
  recipientOrEmail: 'Wallet, ENS-Name oder E‑Mail',
  recipientOrEmailHint: '0x…, name.eth oder E-Mail',
  step: 'Schritt {number} von 2: {title}',
  whatIsWallet: 'Was ist eine Wallet?',
  walletIs:
    'Eine App oder ein kleines Gerät für das, was Ihnen auf einer Blockchain gehört. Ihre Adresse besteht aus 0x und 40 Zeichen; ein Name wie name.eth kann für sie stehen.',
  titles: {
    register: 'Vormerken',
    claim: 'Übernehmen',
    badge: 'Abzeichen sammeln',
    guestbook: 'Ins Gästebuch eintragen',
  },
  closedTitles: { register: 'Vormerkung', claim: 'Übernahme', badge: 'Abzeichen', guestbook: 'Gästebuch' },
  explain: {
    register:
      'Geben Sie an, welche Wallet das Stück bekommen soll. Noch wird nichts übertragen: Warten Sie dann {wait}, halten Sie Ihr Telefon noch einmal an den Chip, und übernehmen Sie es.',
    claim:
      'Geben Sie Ihre Wallet ein; das Token dieses Stücks wird dorthin übertragen. Das kostet Sie nichts.',
    claimStep: 'Das Token dieses Stücks wird an die vorgemerkte Wallet übertragen.',
    claimLater:
      'Wenn Sie schon bei einem früheren Scan eine Wallet vorgemerkt haben, übernehmen Sie das Stück hier. Sonst erledigen Sie zuerst Schritt 1.',
    claimFrom:
      'Wenn es jetzt Ihnen gehört, geben Sie Ihre Wallet ein: Das Token wird dorthin übertragen, und {owner} verliert es. Das kostet Sie nichts.',
    claimOwn:
      'Es gehört Ihnen. Wenn es in eine andere Wallet soll, geben Sie diese ein: {owner} verliert es dann.',
    mint: 'Es gehört noch niemandem. Geben Sie Ihre Wallet ein; das Token dieses Stücks wird erzeugt und dorthin übertragen. Das kostet Sie nichts.',
    badge: 'Geben Sie an, wohin das Abzeichen gehen soll. Das kostet Sie nichts.',
    guestbook:
      'Geben Sie Ihre Wallet ein; Ihr Eintrag wird in ihrem Namen festgehalten. Das kostet Sie nichts.',
  },
  buttons: {
    register: 'Vormerken',
    claim: 'Übernehmen',
    badge: 'Sammeln',
    guestbook: 'Eintragen',
    collect: 'Sammeln',
  },
  collect: {
    title: 'Wählen Sie aus',
    explain: 'Geben Sie Ihre Wallet einmal ein; alles Angekreuzte geht dorthin. Das kostet Sie nichts.',
    nothing: 'Kreuzen Sie an, was Sie haben möchten, und tippen Sie noch einmal auf den Knopf.',
    partly: 'Nicht alles hat geklappt. Der Grund steht oben, und nichts ist verloren.',
  },
  loadAgain: 'Laden Sie diese Seite gleich neu, um zu sehen, was daraus wurde.',
  pending: {
    register: '{to} wird vorgemerkt …',
    claim: 'Unterwegs an {to}.',
    badge: 'Das Abzeichen ist unterwegs an {to}.',
    guestbook: 'Der Eintrag für {to} wird festgehalten.',
  },
  usually:
    'Das dauert meist weniger als eine Minute. Sie können diese Seite schließen: Es geht auch ohne sie weiter.',
  confirmed: {
    register: 'Vorgemerkt für {to}.',
    claim: 'Fertig. Das Stück gehört jetzt {to}.',
    badge: 'Fertig. Das Abzeichen ist bei {to}.',
    guestbook: 'Fertig. Der Eintrag für {to} steht im Gästebuch.',
  },
  somebody: 'der eingegebenen Wallet',
  registered: {
    anew: 'Die Wartezeit beginnt damit von vorn.',
    kept: 'Diese Wallet war schon vorgemerkt; ihre Wartezeit läuft seit {date} weiter.',
    wait: 'Schritt 2 ist möglich in {time}.',
    waitWords: {
      minutes: 'Schritt 2 ist möglich in etwa {count, plural, one {einer Minute} other {# Minuten}}.',
      hours: 'Schritt 2 ist möglich in etwa {count, plural, one {einer Stunde} other {# Stunden}}.',
      days: 'Schritt 2 ist möglich in {count, plural, one {einem Tag} other {# Tagen}}, am {date}.',
    },
    calendar: 'Zum Kalender hinzufügen',
    thenTap:
      'Halten Sie Ihr Telefon dann noch einmal an den Chip, und übernehmen Sie das Stück auf der Seite, die sich dann öffnet.',
    nowTap:
      'Die Wartezeit ist vorbei. Halten Sie Ihr Telefon noch einmal an den Chip, und übernehmen Sie das Stück auf der Seite, die sich dann öffnet.',
    until: 'Die Vormerkung gilt noch {time}.',
    untilDays: 'Die Vormerkung gilt noch {count, plural, one {einen Tag} other {# Tage}}, bis zum {date}.',
    reload: 'Wenn sich diese Seite nicht von selbst ändert, laden Sie sie dann neu.',
    tooLate:
      'Die Vormerkung ist abgelaufen. Halten Sie Ihr Telefon noch einmal an den Chip, und merken Sie die Wallet erneut vor.',
  },
  calendar: {
    summary: 'Übernahme möglich: {name}',
    description:
      'Halten Sie Ihr Telefon noch einmal an den Chip, und übernehmen Sie das Stück auf der Seite, die sich dann öffnet.',
  },
  closed: {
    future: 'Möglich ab dem {date}.',
    futureUndated: 'Das ist noch nicht möglich.',
    over: 'Das war bis zum {day, date} möglich.',
    overUndated: 'Das ist vorbei.',
    'not-approved': 'Das ist im Moment nicht möglich.',
    claimed: 'Das Stück wurde nach diesem Scan übernommen.',
    withdrawn:
      'Das Team hat die Vormerkung zurückgezogen. Halten Sie Ihr Telefon noch einmal an den Chip, um die Wallet erneut vorzumerken.',
    used: 'Dieser Scan wurde anderswo verwendet, in einer App oder auf einer anderen Seite. Halten Sie Ihr Telefon noch einmal an den Chip, um das hier zu tun.',
    expired: 'Die Zeit für diesen Scan ist abgelaufen. Halten Sie Ihr Telefon noch einmal an den Chip.',
    kept: 'Jemand lässt sich das Stück per E-Mail aufheben, bis eine Wallet genannt ist. Solange kann es niemand sonst bekommen.',
    'kept-here': 'Es wird mit diesem Scan aufgehoben, per E-Mail.',
    'kept-given': 'Es war per E-Mail aufgehoben und ist nun in der Wallet, die dafür genannt wurde.',
  },
  reserve: {
    title: 'Noch keine Wallet?',
    explain:
      'Es wird für Sie aufgehoben, bis Sie eine haben. Sie bekommen eine Mail mit sechs Ziffern und danach eine mit einem Link.',
    shared:
      'Es hat einen Besitzer: Wer vor Ihnen sein Telefon an den Chip hält und eine Wallet eingibt, geht vor.',
    email: 'E-Mail-Adresse',
    emailHint: 'name@beispiel.de',
    send: 'Per E-Mail aufheben',
    sent: 'Sechs Ziffern sind unterwegs an {email}. Sie gelten zehn Minuten.',
    bounced: 'Die Mail an {email} war nicht zustellbar. Prüfen Sie die Adresse.',
    code: 'Sechs Ziffern aus der Mail',
    keep: 'Für mich aufheben',
    tries: '{count, plural, one {Noch ein Versuch.} other {Noch # Versuche.}}',
    again: 'Andere Adresse oder neue Mail',
    resend: 'Neue Mail senden',
    kept: 'Für Sie aufgehoben bis zum {day, date}. Sie bekommen einen Link per Mail: Öffnen Sie ihn, sobald Sie eine Wallet haben.',
    keptBounced:
      'Für Sie aufgehoben bis zum {day, date}, aber die Mail mit dem Link war nicht zustellbar. Halten Sie Ihr Telefon später noch einmal an den Chip, und fordern Sie sie neu an.',
    elsewhereTitle: 'Wird es für Sie aufgehoben?',
    elsewhere:
      'Geben Sie Ihre E-Mail-Adresse ein, um einen neuen Link zu bekommen. Der vorige gilt dann nicht mehr.',
    link: 'Neuen Link senden',
    linkSent: 'Wenn es für diese Adresse aufgehoben wird, ist eine Mail mit einem neuen Link unterwegs.',
    invalid: 'Das ist keine E-Mail-Adresse. Bitte prüfen Sie sie auf Tippfehler.',
    often: 'Es wurden zu viele Mails angefordert.',
  },
  kept: {
    state: 'Für Sie aufgehoben bis zum {day, date}',
    explain:
      'Geben Sie Ihre Wallet ein; alles, was für Sie aufgehoben wird, geht dorthin. Das kostet Sie nichts.',
    secret: 'Wer diesen Link hat, kann das tun: Behalten Sie ihn für sich.',
    button: 'An diese Wallet senden',
    ended: {
      title: 'Das wird nicht mehr für Sie aufgehoben',
      advice:
        'Die Zeit ist vorbei, es gehört jemand anderem, oder das Team hat es freigegeben. Halten Sie Ihr Telefon noch einmal an den Chip.',
    },
    unknown: {
      title: 'Dieser Link gilt nicht mehr',
      advice:
        'Vielleicht gibt es in einer neueren Mail einen neueren. Wenn nicht, halten Sie Ihr Telefon noch einmal an den Chip, und fordern Sie einen an.',
    },
  },
  mail: {
    codeSubject: '{code} ist Ihr Code für {piece}',
    code: 'Geben Sie diese sechs Ziffern auf der Seite ein, die sich am Chip geöffnet hat. Sie gelten zehn Minuten.',
    linkSubject: '{piece} ist für Sie aufgehoben',
    link: 'Es wird bis zum {day, date} für Sie aufgehoben. Öffnen Sie diesen Link, sobald Sie eine Wallet haben, und geben Sie deren Adresse ein:',
    secret:
      'Wer diesen Link hat, kann es an eine eigene Wallet senden lassen: Geben Sie ihn nicht weiter. Er gilt ein Mal.',
    forget:
      'Ihre Adresse wird verschlüsselt aufbewahrt, nur dafür verwendet und vergessen, wenn Sie eine Wallet nennen oder die Zeit abgelaufen ist.',
    notYou: 'Wenn Sie das nicht waren, brauchen Sie nichts zu tun.',
  },
  check: {
    claim: 'Wenn Sie auf „{button}“ tippen, geht es an {to}. Das lässt sich nicht rückgängig machen.',
    mint: 'Wenn Sie auf „{button}“ tippen, wird das Token erzeugt und geht an {to}. Das lässt sich nicht rückgängig machen.',
    register:
      'Wenn Sie auf „{button}“ tippen, wird {to} für Schritt 2 vorgemerkt, und die Wartezeit beginnt von vorn: {wait}.',
    registerKept:
      'Wenn Sie auf „{button}“ tippen, bleibt {to} vorgemerkt wie bisher: Die Wartezeit läuft weiter, und Schritt 2 ist möglich ab dem {date}.',
    registerOpen: '{to} ist schon vorgemerkt, und die Wartezeit ist vorbei: Weiter mit Schritt 2.',
    badge: 'Wenn Sie auf „{button}“ tippen, geht das Abzeichen an {to}.',
    guestbook: 'Wenn Sie auf „{button}“ tippen, wird der Eintrag für {to} festgehalten.',
    collect: 'Wenn Sie auf „{button}“ tippen, geht alles Angekreuzte an {to}.',
    collectClaim:
      'Wenn Sie auf „{button}“ tippen, geht alles Angekreuzte an {to}. Eine Übernahme lässt sich nicht rückgängig machen.',
    thisEmail: 'diese E-Mail-Adresse',
  },
  script: {
    genuineAgo: 'Echt, gescannt {time}',
    sending: 'Wird gesendet …',
    offline:
      'Der Dienst ist nicht erreichbar. Ihre Eingabe ist noch da: Versuchen Sie es gleich noch einmal.',
    failed: 'Die Antwort war nicht lesbar. Ihre Eingabe ist noch da: Versuchen Sie es noch einmal.',
    busy: 'Das geht gerade nicht. Warten Sie einen Moment, und versuchen Sie es dann noch einmal.',
    unknown:
      'Vielleicht hat es geklappt, vielleicht nicht. Laden Sie diese Seite gleich neu, um zu sehen, was daraus geworden ist.',
    wallet: 'Adresse der Wallet in diesem Browser einsetzen',
    walletShort: 'Wallet',
    walletNamed: 'Adresse aus {name} einsetzen',
    walletAsked: 'Die Wallet wurde nach einer Adresse gefragt. Achten Sie auf ihr Fenster.',
    walletRefused: 'Die Wallet hat keine Adresse freigegeben. Sie können auch eine eingeben.',
    walletFailed: 'Die Wallet antwortet nicht. Sie können eine Adresse auch eingeben.',
  },
  failures: {
    otherwise: `Das hat nicht geklappt. Es wurde nichts verbraucht. ${tapAgain}`,
    otp_used: `Dieser Scan wurde dafür schon verwendet, auf einer anderen Seite oder in einer App. ${tapAgain}`,
    otp_expired: `Die Zeit für diesen Scan ist abgelaufen. ${tapAgain}`,
    otp_missing: `Diese Seite kennt ihren Scan nicht mehr. ${tapAgain}`,
    otp_unknown: `Dieser Scan gilt nicht mehr. ${tapAgain}`,
    otp_deleted: `Das Team hat dieses Angebot zurückgezogen. ${tapAgain}`,
    otp_unsupported: 'Das ist mit diesem Chip nicht möglich.',
    recipient_invalid:
      'Das wurde nicht erkannt. Bitte prüfen Sie es auf Tippfehler: Eine Adresse besteht aus 0x und 40 Zeichen, ein Name sieht aus wie name.eth.',
    invalid_input:
      'Etwas im Formular stimmt nicht. Geben Sie eine Wallet-Adresse (0x und 40 Zeichen) oder einen Namen wie name.eth ein.',
    chain_unavailable: 'Die Blockchain antwortet gerade nicht. Es wurde nichts verbraucht.',
    chain_not_configured:
      'Namen können hier nicht nachgeschlagen werden. Geben Sie die Wallet-Adresse selbst ein: 0x und 40 Zeichen.',
    registration_missing: 'Diese Wallet ist noch nicht vorgemerkt. Erledigen Sie zuerst Schritt 1.',
    registration_early: 'Die Wartezeit ist noch nicht vorbei. Es wurde nichts verbraucht.',
    registration_expired:
      'Die Vormerkung ist abgelaufen. Halten Sie Ihr Telefon noch einmal an den Chip, und merken Sie die Wallet erneut vor.',
    registration_same_tap:
      'Dieser Schritt braucht einen weiteren Scan. Halten Sie Ihr Telefon noch einmal an den Chip, und machen Sie auf der Seite weiter, die sich dann öffnet.',
    token_taken:
      'Jemand anderes hat im selben Moment dasselbe getan. Es wurde nichts verbraucht: Versuchen Sie es noch einmal.',
    transaction_refused:
      'Die Transaktion wurde schon vor dem Senden abgelehnt. Fragen Sie das Team, von dem Sie das Stück haben.',
    simulation_reverted:
      'Der Vertrag dieses Stücks würde das ablehnen. Es wurde nichts gesendet oder verbraucht. Prüfen Sie die Wallet, oder fragen Sie das Team, von dem Sie das Stück haben.',
    reverted:
      'Der Vertrag hat die Transaktion abgelehnt. Halten Sie Ihr Telefon noch einmal an den Chip, und versuchen Sie es erneut; hilft das nicht, fragen Sie das Team, von dem Sie das Stück haben.',
    transaction_budget_spent:
      'Für heute ist das Budget des Teams aufgebraucht. Sie verlieren nichts: Halten Sie Ihr Telefon morgen noch einmal an den Chip.',
    cancelled: `Das wurde aufgegeben und hatte keine Wirkung. ${tapAgain}`,
    conflict:
      'Das geht im Moment nicht. Es wurde nichts verbraucht. Versuchen Sie es später noch einmal; hilft das nicht, fragen Sie das Team, von dem Sie das Stück haben.',
    idempotency_conflict:
      'Ihre Eingabe kam zu spät: Auf einer anderen Seite dieses Scans wurde eine andere Wallet eingegeben, und diese zählt.',
    rate_limited: 'Das waren zu viele Versuche in kurzer Zeit. Es wurde nichts verbraucht.',
    badge_not_active: 'Dieses Abzeichen gibt es im Moment nicht.',
    badge_codes_gone: 'Alle Abzeichen dieser Veranstaltung sind vergeben.',
    badge_device_used: 'Mit diesem Telefon wurde schon ein Abzeichen dieser Veranstaltung gesammelt.',
    badge_refused:
      'Das Abzeichen wurde nicht vergeben: Wahrscheinlich hat diese Wallet es schon. Versuchen Sie es mit einer anderen.',
    badge_unavailable: 'Der Dienst für die Abzeichen antwortet gerade nicht. Es wurde nichts verbraucht.',
    store_unavailable: 'Dieser Dienst ist gerade überlastet. Es wurde nichts verbraucht.',
    store_full: 'Dieser Dienst hat gerade keinen Platz mehr. Es wurde nichts verbraucht.',
    outcome_unknown: `Dieser Dienst wurde unterbrochen; vielleicht hat es geklappt, vielleicht nicht. ${tapAgain}`,
    too_slow: 'Die Verbindung war zu langsam. Es wurde nichts verbraucht. Versuchen Sie es noch einmal.',
    claim_kept: 'Jemand lässt sich dieses Stück per E-Mail aufheben. Es wurde nichts verbraucht.',
    mail_code_wrong: 'Das sind nicht die sechs Ziffern der neuesten Mail.',
    mail_code_over:
      'Diese Ziffern gelten nicht mehr. Es wurde nichts verbraucht. Halten Sie Ihr Telefon noch einmal an den Chip, um neue zu bekommen.',
    not_found: `Das gibt es nicht mehr. ${tapAgain}`,
  },
  mistyped: {
    unknownName:
      'Zu diesem Namen gehört keine Wallet. Prüfen Sie die Schreibweise, oder geben Sie die Adresse selbst ein.',
    wrongAddress: 'In dieser Adresse ist ein Fehler. Kopieren Sie sie noch einmal.',
    otherChain:
      'Der Teil vor dem Doppelpunkt nennt eine andere Blockchain als die dieses Stücks. Geben Sie Ihre Adresse dort ohne ihn ein.',
    wrongLength: 'Eine Wallet-Adresse besteht aus 0x und 40 Zeichen; hier sind es {count}.',
    badge:
      'Das wurde nicht erkannt. Bitte prüfen Sie es auf Tippfehler: Eine Adresse ist 0x und 40 Zeichen, ein Name ist wie name.eth. Auch E-Mail-Adressen gehen.',
  },
  tryAgainIn: {
    seconds: 'Versuchen Sie es in etwa {count, plural, one {einer Sekunde} other {# Sekunden}} noch einmal.',
    minutes: 'Versuchen Sie es in etwa {count, plural, one {einer Minute} other {# Minuten}} noch einmal.',
    hours: 'Versuchen Sie es in etwa {count, plural, one {einer Stunde} other {# Stunden}} noch einmal.',
  },
  moment: { certificate: 'Urkunde', date: 'Datum', day: '{day, date}', print: 'Drucken' },
  problem: 'Problem: {title}',
  refused: 'Nicht angenommen',
  refusals: {
    replayed: {
      title: 'Dieser Scan wurde schon verwendet',
      advice:
        'Jeder Scan ergibt einen Link, der ein Mal gilt. Halten Sie Ihr Telefon noch einmal an den Chip, um einen neuen zu bekommen.',
    },
    expired: {
      title: 'Die Zeit für diesen Scan ist abgelaufen',
      advice:
        'Ein Scan gilt nur für kurze Zeit. Halten Sie Ihr Telefon noch einmal an den Chip, um einen neuen zu bekommen.',
    },
    'caught-up': {
      title: 'Bitte halten Sie Ihr Telefon noch einmal an den Chip',
      advice:
        'Wir müssen diesen Chip einmal mehr sehen, bevor er funktioniert. Danach öffnet sich die richtige Seite.',
    },
    unknown: {
      title: 'Dieser Link gehört zu keinem Chip',
      advice:
        'Der Link wurde vielleicht unterwegs verändert, oder der Chip ist nicht echt. Halten Sie Ihr Telefon noch einmal an den Chip, und öffnen Sie den Link, der dann erscheint.',
    },
    unfilled: {
      title: 'Dieser Chip ist nicht eingerichtet',
      advice:
        'Im Link steht nichts, was nur von diesem Chip kommt; ob er echt ist, lässt sich deshalb nicht sagen. Halten Sie Ihr Telefon noch einmal an den Chip. Erscheint diese Seite wieder, sagen Sie es der Person, von der Sie ihn haben.',
    },
    malformed: {
      title: 'Dieser Link ist unvollständig',
      advice:
        'Ein Teil davon fehlt. Halten Sie Ihr Telefon noch einmal an den Chip, und öffnen Sie den Link, der dann erscheint.',
    },
    disabled: {
      title: 'Dieser Chip ist abgeschaltet',
      advice:
        'Das Team, von dem er stammt, hat ihn abgeschaltet; das Telefon noch einmal daran zu halten, hilft deshalb nicht. Wenn er Ihnen gehört, wenden Sie sich an die Person, von der Sie ihn haben.',
    },
  },
  printed: {
    title: 'Bitte das Telefon an den Chip halten',
    advice:
      'Diese Adresse stand auf einem Etikett und sagt nichts über das Stück: Etiketten lassen sich kopieren. Der Chip selbst nicht. Halten Sie Ihr Telefon daran, und öffnen Sie den Link, der erscheint.',
  },
  home: {
    title: 'Bitte das Telefon an einen Chip halten',
    advice:
      'Diese Adresse allein zeigt nichts. Halten Sie Ihr Telefon an einen Chip, und öffnen Sie den Link, der erscheint.',
  },
  notFound: 'Nicht gefunden',
  notNow: 'Im Moment nicht',
  unable: {
    busy: {
      title: 'Zu viele auf einmal',
      advice:
        'Aus Ihrem Netz kamen gerade viele Anfragen. Warten Sie hier: Diese Seite lädt sich von selbst neu.',
    },
    often: {
      title: 'Zu viele Versuche',
      advice: 'Diese Seite wurde innerhalb einer Minute sehr oft benutzt. Gehen Sie zu ihr zurück.',
    },
    away: {
      title: 'Das lässt sich gerade nicht prüfen',
      advice: 'Ihr Scan wurde nicht verbraucht: Sie können diese Seite neu laden.',
    },
    starting: {
      title: 'Einen Moment bitte',
      advice:
        'Dieser Dienst startet gerade. Ihr Scan wurde nicht verbraucht: Sie können diese Seite neu laden.',
    },
    interrupted: {
      title: 'Vielleicht hat es geklappt, vielleicht nicht',
      advice:
        'Dieser Dienst wurde unterbrochen. Halten Sie Ihr Telefon noch einmal an den Chip, um zu sehen, was daraus geworden ist.',
    },
    missing: {
      title: 'Hier ist nichts',
      advice:
        'Die Adresse wurde vielleicht unterwegs verändert. Halten Sie Ihr Telefon noch einmal an den Chip.',
    },
    malformed: {
      title: 'Dieser Link ist nicht lesbar',
      advice:
        'Ein Teil davon ist beschädigt. Halten Sie Ihr Telefon noch einmal an den Chip, und öffnen Sie den Link, der dann erscheint.',
    },
    wrong: {
      title: 'Hier ist etwas schiefgegangen',
      advice:
        'Halten Sie Ihr Telefon noch einmal an den Chip. Wenn das öfter vorkommt, wenden Sie sich an die Person, von der Sie den Chip haben.',
    },
  },
}
