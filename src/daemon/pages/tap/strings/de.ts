import type { ClosedReason } from '../../../domain/tap-page/content.ts'
import { type Html, html } from '../html.ts'
import { failures, mistyped, printed, refusals, unable } from './de-errors.ts'
import type { Strings } from './en.ts'

const date = (day: string): string =>
  new Intl.DateTimeFormat('de', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))

const minutes = (count: number): string => (count === 1 ? 'eine Minute' : `${count} Minuten`)

export const de: Strings = {
  dir: 'ltr',
  genuine: 'Echt, gerade gescannt',
  genuineEarlier: 'Echt, gescannt vor mehr als einer Minute',
  genuineSince: (count: number) =>
    `Echt, gescannt vor ${count < 90 ? minutes(count).replace('eine ', 'einer ') : `${Math.round(count / 60)} Stunden`}`,
  fallbackTitle: 'Dieser Chip ist echt',
  logo: 'Logo',
  pictureOf: (name: string, index: number) => `${name}, Bild ${index}`,
  videoOf: (name: string) => `Video: ${name}`,
  owner: 'Im Besitz von',
  ownerUnknown: 'nicht bekannt',
  edition: 'Auflage',
  seal: 'Siegel',
  sealClosed: 'geschlossen',
  sealOpened: (day: string) => `offen, zuerst gesehen am ${date(day)}`,
  readOn: 'Weiterlesen',
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
  transaction: (hash: Html) => html`Transaktion ${hash}`,
  timeLeft: (time: Html) => html`Verbleibende Zeit: ${time}. Für mehr Zeit scannen Sie noch einmal.`,
  timeAtMost: (count: number) =>
    `Sie haben ab dem Laden dieser Seite ${minutes(count)} Zeit. Für mehr Zeit scannen Sie noch einmal.`,
  timeOver: 'Die Zeit ist abgelaufen. Scannen Sie noch einmal.',
  recipient: 'Wallet-Adresse oder ENS-Name',
  recipientHint: '0x… oder name.eth',
  recipientOrEmail: 'Wallet, ENS-Name oder E‑Mail',
  recipientOrEmailHint: '0x…, name.eth oder E-Mail',
  step: (number: number, title: string) => `Schritt ${number} von 2: ${title}`,
  titles: {
    register: 'Vormerken',
    claim: 'Übernehmen',
    badge: 'Abzeichen sammeln',
    guestbook: 'Ins Gästebuch eintragen',
  },
  explain: {
    register:
      'Geben Sie an, welche Wallet das Stück bekommen soll. Noch wird nichts übertragen: Nach einer Wartezeit scannen Sie noch einmal und übernehmen es.',
    claim:
      'Geben Sie Ihre Wallet ein; das Token dieses Stücks wird dorthin übertragen. Das kostet Sie nichts.',
    claimStep: 'Das Token dieses Stücks wird an die vorgemerkte Wallet übertragen.',
    claimLater:
      'Wenn Sie schon bei einem früheren Scan eine Wallet vorgemerkt haben, übernehmen Sie das Stück hier. Sonst erledigen Sie zuerst Schritt 1.',
    mint: 'Geben Sie Ihre Wallet ein; das Token dieses Stücks wird erzeugt und dorthin übertragen. Das kostet Sie nichts.',
    badge: 'Geben Sie an, wohin das Abzeichen gehen soll. Das kostet Sie nichts.',
    guestbook:
      'Geben Sie Ihre Wallet ein; Ihr Eintrag wird in ihrem Namen festgehalten. Das kostet Sie nichts.',
  },
  buttons: { register: 'Vormerken', claim: 'Übernehmen', badge: 'Sammeln', guestbook: 'Eintragen' },
  loadAgain: 'Laden Sie diese Seite gleich neu, um zu sehen, was daraus wurde.',
  pending: {
    register: (to: Html) => html`${to} wird vorgemerkt …`,
    claim: (to: Html) => html`Unterwegs an ${to}.`,
    badge: (to: Html) => html`Das Abzeichen ist unterwegs an ${to}.`,
    guestbook: (to: Html) => html`Der Eintrag für ${to} wird festgehalten.`,
  },
  usually:
    'Das dauert meist weniger als eine Minute. Sie können diese Seite schließen: Es geht auch ohne sie weiter.',
  confirmed: {
    register: (to: Html) => html`Vorgemerkt für ${to}.`,
    claim: (to: Html) => html`Fertig. Das Stück gehört jetzt ${to}.`,
    badge: (to: Html) => html`Fertig. Das Abzeichen ist bei ${to}.`,
    guestbook: (to: Html) => html`Fertig. Der Eintrag für ${to} steht im Gästebuch.`,
  },
  somebody: 'der eingegebenen Wallet',
  registered: {
    wait: (time: Html) => html`Schritt 2 ist möglich in ${time}.`,
    waitWords: (count: number) =>
      `Schritt 2 ist möglich in etwa ${minutes(count).replace('eine ', 'einer ')}.`,
    thenTap:
      'Halten Sie Ihr Telefon nach der Wartezeit noch einmal an den Chip, und übernehmen Sie das Stück auf der Seite, die sich dann öffnet.',
    nowTap:
      'Die Wartezeit ist vorbei. Halten Sie Ihr Telefon noch einmal an den Chip, und übernehmen Sie das Stück auf der Seite, die sich dann öffnet.',
    until: (time: Html) => html`Die Vormerkung gilt noch ${time}.`,
    reload: 'Wenn sich diese Seite nicht von selbst ändert, laden Sie sie dann neu.',
    tooLate:
      'Die Vormerkung ist abgelaufen. Halten Sie Ihr Telefon noch einmal an den Chip, und merken Sie die Wallet erneut vor.',
  },
  closed: (reason: ClosedReason, day: string | undefined): string => {
    switch (reason) {
      case 'future':
        return day ? `Möglich ab dem ${date(day)} (UTC).` : 'Das ist noch nicht möglich.'
      case 'over':
        return day ? `Das war bis zum ${date(day)} (UTC) möglich.` : 'Das ist vorbei.'
      case 'not-approved':
        return 'Das ist im Moment nicht möglich.'
      case 'claimed':
        return 'Das Stück wurde nach diesem Scan übernommen.'
      case 'withdrawn':
        return 'Das Team hat die Vormerkung zurückgezogen. Halten Sie Ihr Telefon noch einmal an den Chip, um die Wallet erneut vorzumerken.'
      case 'used':
        return 'Dieser Scan wurde anderswo verwendet, in einer App oder auf einer anderen Seite. Halten Sie Ihr Telefon noch einmal an den Chip, um das hier zu tun.'
      case 'expired':
        return 'Die Zeit für diesen Scan ist abgelaufen. Halten Sie Ihr Telefon noch einmal an den Chip.'
    }
  },
  check: {
    claim: (button: string, to: Html) =>
      html`Wenn Sie auf „${button}“ tippen, geht es an ${to}. Das lässt sich nicht rückgängig machen.`,
    mint: (button: string, to: Html) =>
      html`Wenn Sie auf „${button}“ tippen, wird das Token erzeugt und geht an ${to}. Das lässt sich nicht rückgängig machen.`,
    register: (button: string, to: Html) =>
      html`Wenn Sie auf „${button}“ tippen, wird ${to} für Schritt 2 vorgemerkt.`,
    badge: (button: string, to: Html) => html`Wenn Sie auf „${button}“ tippen, geht das Abzeichen an ${to}.`,
    guestbook: (button: string, to: Html) =>
      html`Wenn Sie auf „${button}“ tippen, wird der Eintrag für ${to} festgehalten.`,
    thisEmail: 'diese E-Mail-Adresse',
  },
  script: {
    sending: 'Wird gesendet …',
    offline:
      'Der Dienst ist nicht erreichbar. Ihre Eingabe ist noch da: Versuchen Sie es gleich noch einmal.',
    failed: 'Die Antwort war nicht lesbar. Ihre Eingabe ist noch da: Versuchen Sie es noch einmal.',
    busy: 'Das geht gerade nicht. Warten Sie einen Moment, und versuchen Sie es dann noch einmal.',
    unknown:
      'Vielleicht hat es geklappt, vielleicht nicht. Laden Sie diese Seite gleich neu, um zu sehen, was daraus geworden ist.',
    wallet: 'Aus der Wallet in diesem Browser übernehmen',
    walletShort: 'Wallet',
    walletNamed: 'Aus {name} übernehmen',
    walletRefused: 'Die Wallet hat keine Adresse freigegeben. Sie können auch eine eintippen.',
    walletFailed: 'Die Wallet antwortet nicht. Sie können eine Adresse auch eintippen.',
  },
  failures,
  mistyped,
  tryAgainIn: (seconds: number) =>
    seconds < 90
      ? `Versuchen Sie es in etwa ${seconds === 1 ? 'einer Sekunde' : `${seconds} Sekunden`} noch einmal.`
      : `Versuchen Sie es in etwa ${seconds < 5400 ? minutes(Math.ceil(seconds / 60)) : `${Math.ceil(seconds / 3600)} Stunden`} noch einmal.`,
  problem: (title: string) => `Problem: ${title}`,
  refused: 'Nicht angenommen',
  refusals,
  printed,
  notFound: 'Nicht gefunden',
  notNow: 'Im Moment nicht',
  unable,
}
