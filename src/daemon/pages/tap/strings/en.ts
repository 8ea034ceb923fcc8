import type { ClosedReason } from '../../../domain/tap-page/content.ts'
import { type Html, html } from '../html.ts'
import { failures, mistyped, printed, refusals, unable } from './en-errors.ts'

const date = (day: string): string =>
  new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' }).format(new Date(`${day}T00:00:00Z`))

const minutes = (count: number): string => (count === 1 ? 'one minute' : `${count} minutes`)

/** All texts of the tap page. `de.ts` has the same structure. */
export const en = {
  dir: 'ltr',
  genuine: 'Genuine, tapped just now',
  genuineEarlier: 'Genuine, tapped more than a minute ago',
  genuineSince: (count: number) =>
    `Genuine, tapped ${count < 90 ? minutes(count) : `${Math.round(count / 60)} hours`} ago`,
  fallbackTitle: 'This chip is genuine',
  logo: 'Logo',
  pictureOf: (name: string, index: number) => `${name}, picture ${index}`,
  videoOf: (name: string) => `Video of ${name}`,
  owner: 'Owner',
  ownerUnknown: 'not known',
  edition: 'Edition',
  seal: 'Seal',
  sealClosed: 'closed',
  sealOpened: (day: string) => `open, first seen on ${date(day)}`,
  readOn: 'Read on',
  nothingToDo: 'This tap is proof that the chip is genuine. There is nothing else to do with it.',
  links: 'More',
  gallery: 'Pictures',
  attributes: 'Details',
  technical: 'Technical details',
  chip: 'Chip',
  contract: 'Contract',
  tokenId: 'Token',
  network: 'Network',
  ownerAddress: 'Owner’s address',
  viewToken: 'View the token on the explorer',
  explorer: 'View the transaction on the explorer',
  transaction: (hash: Html) => html`Transaction ${hash}`,
  timeLeft: (time: Html) => html`Time left: ${time}. Tap again for more.`,
  timeAtMost: (count: number) =>
    `You have ${minutes(count)} from when this page was loaded. Tap again for more time.`,
  timeOver: 'Time is up. Tap the chip again.',
  recipient: 'Wallet address or ENS name',
  recipientHint: '0x… or name.eth',
  recipientOrEmail: 'Wallet, ENS name, or email',
  recipientOrEmailHint: '0x…, name.eth, or email',
  step: (number: number, title: string) => `Step ${number} of 2: ${title}`,
  titles: {
    register: 'Register',
    claim: 'Claim it',
    badge: 'Collect the badge',
    guestbook: 'Sign the guestbook',
  },
  explain: {
    register:
      'Say which wallet will get it. Nothing moves yet: after a waiting time you tap again and claim it.',
    claim: 'Enter your wallet, and the token of this piece is sent there. It costs you nothing.',
    claimStep: 'The token of this piece is sent to the wallet that you registered.',
    claimLater: 'If you registered with an earlier tap, claim it here. Otherwise do step 1 first.',
    mint: 'Enter your wallet, and the token of this piece is made and sent there. It costs you nothing.',
    badge: 'Say where the badge should go. It costs you nothing.',
    guestbook: 'Enter your wallet, and your entry is recorded in its name. It costs you nothing.',
  },
  buttons: { register: 'Register', claim: 'Claim', badge: 'Collect', guestbook: 'Sign' },
  loadAgain: 'Load this page again in a moment to see what came of it.',
  pending: {
    register: (to: Html) => html`Registering ${to} …`,
    claim: (to: Html) => html`On its way to ${to}.`,
    badge: (to: Html) => html`The badge is on its way to ${to}.`,
    guestbook: (to: Html) => html`Your entry for ${to} is being recorded.`,
  },
  usually: 'This usually takes less than a minute. You can close this page: it goes on without it.',
  confirmed: {
    register: (to: Html) => html`Registered for ${to}.`,
    claim: (to: Html) => html`Done. It belongs to ${to} now.`,
    badge: (to: Html) => html`Done. The badge is with ${to}.`,
    guestbook: (to: Html) => html`Done. The guestbook is signed for ${to}.`,
  },
  somebody: 'the wallet that was entered',
  registered: {
    wait: (time: Html) => html`The claim opens in ${time}.`,
    waitWords: (count: number) => `The claim opens in about ${minutes(count)}.`,
    thenTap: 'When the time has passed, tap the chip again and claim it on the page that opens.',
    nowTap: 'The waiting time is over. Tap the chip again, and claim it on the page that opens.',
    until: (time: Html) => html`The registration holds for ${time}.`,
    reload: 'If this page does not change by itself, load it again then.',
    tooLate: 'The registration has run out. Tap the chip again and register once more.',
  },
  closed: (reason: ClosedReason, day: string | undefined): string => {
    switch (reason) {
      case 'future':
        return day ? `This opens on ${date(day)} (UTC).` : 'This has not opened yet.'
      case 'over':
        return day ? `This ended on ${date(day)} (UTC).` : 'This is over.'
      case 'not-approved':
        return 'This is not available at the moment.'
      case 'claimed':
        return 'The piece was claimed after this tap.'
      case 'withdrawn':
        return 'The team has withdrawn the registration. Tap the chip again to register once more.'
      case 'used':
        return 'This tap was used elsewhere, in an app or on another page. Tap the chip again to do this here.'
      case 'expired':
        return 'The time for this tap is over. Tap the chip again.'
    }
  },
  check: {
    claim: (button: string, to: Html) =>
      html`When you press ${button}, it goes to ${to}. This cannot be undone.`,
    mint: (button: string, to: Html) =>
      html`When you press ${button}, the token is made and goes to ${to}. This cannot be undone.`,
    register: (button: string, to: Html) => html`When you press ${button}, ${to} is registered for step 2.`,
    badge: (button: string, to: Html) => html`When you press ${button}, the badge goes to ${to}.`,
    guestbook: (button: string, to: Html) => html`When you press ${button}, the entry is recorded for ${to}.`,
    thisEmail: 'this email address',
  },
  script: {
    sending: 'Sending …',
    offline: 'The service cannot be reached. What you typed is kept: try again in a moment.',
    failed: 'The answer could not be read. Your input is still here: try again.',
    busy: 'That is not possible right now. Wait a little, then try again.',
    unknown: 'This may have worked, or not. Load this page again in a moment to see what came of it.',
    wallet: 'Fill in from the wallet in this browser',
    walletShort: 'Wallet',
    walletNamed: 'Fill in from {name}',
    walletRefused: 'The wallet gave no address. You can type one in instead.',
    walletFailed: 'The wallet does not answer. You can type an address in instead.',
  },
  failures,
  mistyped,
  tryAgainIn: (seconds: number) =>
    seconds < 90
      ? `Try again in about ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
      : `Try again in about ${seconds < 5400 ? minutes(Math.ceil(seconds / 60)) : `${Math.ceil(seconds / 3600)} hours`}.`,
  problem: (title: string) => `Problem: ${title}`,
  refused: 'Not accepted',
  refusals,
  printed,
  notFound: 'Not found',
  notNow: 'Not now',
  unable,
}

export type Strings = typeof en
