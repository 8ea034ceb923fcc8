import type { ErrorMessages } from './errors.ts'

const tapAgain = 'Hold your phone to the chip again, and try once more.'

/**
 * All texts of the tap page. The other languages have the same keys and placeholders: `{to}`, `{day, date}`,
 * `{count, plural, one {# minute} other {# minutes}}`. Texts of `script` are formatted by the page's script.
 */
export const en = {
  genuine: 'Genuine, tapped just now',
  genuineEarlier: 'Genuine, tapped more than a minute ago',
  genuineSince: {
    minutes: 'Genuine, tapped {count, plural, one {one minute} other {# minutes}} ago',
    hours: 'Genuine, tapped {count, plural, one {one hour} other {# hours}} ago',
    days: 'Genuine, tapped {count, plural, one {one day} other {# days}} ago',
  },
  fallbackTitle: 'This chip is genuine',
  logo: 'Logo',
  pictureOf: '{name}, picture {index}',
  videoOf: 'Video of {name}',
  owner: 'Owner',
  ownerUnknown: 'not known',
  ownerNobody: 'nobody yet',
  ownerYou: '(yours)',
  edition: 'Edition',
  seal: 'Seal',
  sealClosed: 'closed',
  sealOpened: 'open, first seen on {day, date}',
  sections: { care: 'Care', material: 'Material', repair: 'Repair' },
  story: {
    title: 'Its story',
    day: '{day, date}',
    setup: 'The chip was set up.',
    minted: 'The token was made.',
    claimed: 'It went to a new owner.',
    badge: 'A badge was collected: {name}',
    guestbook: 'The guestbook was signed: {name}',
    seal: 'The seal was open for the first time.',
  },
  publicPage: {
    fallbackTitle: 'A piece with a chip',
    since: 'since {day, date}',
    open: 'See the piece',
    share: 'Share',
    shareCopied: 'The link is copied.',
    shareFailed: 'The link could not be copied. It is in the address bar.',
    about:
      'This page tells about the piece, and proves nothing. Only a phone that is held to the chip shows that the piece is genuine.',
  },
  readOn: 'Read on',
  more: 'There is more about this piece than fits on this page.',
  moreData: 'See all of its data',
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
  transaction: 'Transaction {hash}',
  timeLeft: 'Time left: {time}. For more, hold your phone to the chip again.',
  timeAtMost: 'You have {time} from when this page was loaded. For more, hold your phone to the chip again.',
  timeOver: 'Time is up. Hold your phone to the chip again.',
  duration: {
    seconds: '{count, plural, one {one second} other {# seconds}}',
    minutes: '{count, plural, one {one minute} other {# minutes}}',
    hours: '{count, plural, one {one hour} other {# hours}}',
    days: '{count, plural, one {one day} other {# days}}',
  },
  recipient: 'Wallet address or ENS name',
  recipientHint: '0x… or name.eth',
  recipientOrEmail: 'Wallet, ENS name, or email',
  recipientOrEmailHint: '0x…, name.eth, or email',
  step: 'Step {number} of 2: {title}',
  whatIsWallet: 'What is a wallet?',
  walletIs:
    'An app or a small device for what you own on a blockchain. Its address is 0x and 40 characters; a name such as name.eth can stand for it.',
  titles: {
    register: 'Register',
    claim: 'Claim it',
    badge: 'Collect the badge',
    guestbook: 'Sign the guestbook',
  },
  /** Where there is nothing to press. */
  closedTitles: { register: 'Registration', claim: 'Claim', badge: 'Badge', guestbook: 'Guestbook' },
  explain: {
    register:
      'Say which wallet will get it. Nothing moves yet: after a wait of {wait} you hold your phone to the chip again, and claim it.',
    claim: 'Enter your wallet, and the token of this piece is sent there. It costs you nothing.',
    claimStep: 'The token of this piece is sent to the wallet that you registered.',
    claimLater: 'If you registered with an earlier tap, claim it here. Otherwise do step 1 first.',
    claimFrom:
      'If it is yours now, enter your wallet: the token is sent there, and {owner} loses it. It costs you nothing.',
    claimOwn: 'It is yours. If it should be in another wallet, enter that one: {owner} loses it.',
    mint: 'It is nobody’s yet. Enter your wallet, and the token of this piece is made and sent there. It costs you nothing.',
    badge: 'Say where the badge should go. It costs you nothing.',
    guestbook: 'Enter your wallet, and your entry is recorded in its name. It costs you nothing.',
  },
  buttons: { register: 'Register', claim: 'Claim', badge: 'Collect', guestbook: 'Sign', collect: 'Collect' },
  collect: {
    title: 'Choose what to collect',
    explain: 'Enter your wallet once: all that is ticked goes there. It costs you nothing.',
    nothing: 'Tick what you want to collect, then press the button again.',
    partly: 'Not everything worked. What is listed above says why, and nothing is lost.',
  },
  loadAgain: 'Load this page again in a moment to see what came of it.',
  pending: {
    register: 'Registering {to} …',
    claim: 'On its way to {to}.',
    badge: 'The badge is on its way to {to}.',
    guestbook: 'Your entry for {to} is being recorded.',
  },
  usually: 'This usually takes less than a minute. You can close this page: it goes on without it.',
  confirmed: {
    register: 'Registered for {to}.',
    claim: 'Done. It belongs to {to} now.',
    badge: 'Done. The badge is with {to}.',
    guestbook: 'Done. The guestbook is signed for {to}.',
  },
  somebody: 'the wallet that was entered',
  registered: {
    anew: 'The wait begins anew with it.',
    kept: 'It was registered before, so its wait goes on from {date}.',
    wait: 'The claim opens in {time}.',
    waitWords: {
      minutes: 'The claim opens in about {count, plural, one {one minute} other {# minutes}}.',
      hours: 'The claim opens in about {count, plural, one {one hour} other {# hours}}.',
      days: 'The claim opens in {count, plural, one {one day} other {# days}}, on {date}.',
    },
    calendar: 'Add it to your calendar',
    thenTap: 'Then hold your phone to the chip again, and claim it on the page that opens.',
    nowTap: 'The wait is over. Hold your phone to the chip again, and claim it on the page that opens.',
    until: 'The registration is valid for {time}.',
    untilDays: 'The registration is valid for {count, plural, one {one day} other {# days}}, until {date}.',
    reload: 'If this page does not change by itself, load it again then.',
    tooLate: 'The registration has run out. Hold your phone to the chip again, and register once more.',
  },
  calendar: {
    summary: 'The claim of {name} opens',
    description: 'Hold your phone to the chip again, and claim it on the page that opens.',
  },
  closed: {
    future: 'This opens on {date}.',
    futureUndated: 'This has not opened yet.',
    over: 'This ended on {day, date}.',
    overUndated: 'This is over.',
    'not-approved': 'This is not available at the moment.',
    claimed: 'The piece was claimed after this tap.',
    withdrawn:
      'The team has withdrawn the registration. Hold your phone to the chip again to register once more.',
    used: 'This tap was used elsewhere, in an app or on another page. Hold your phone to the chip again to do this here.',
    expired: 'The time for this tap is over. Hold your phone to the chip again.',
    kept: 'Somebody keeps it by email until they name a wallet. Nobody else can claim it meanwhile.',
    'kept-here': 'It is kept with this tap, by email.',
    'kept-given': 'It was kept by email, and is now with the wallet that was named.',
  },
  reserve: {
    title: 'No wallet yet?',
    explain:
      'It can be kept for you until you have one. You get an email with six digits, and then one with a link.',
    shared: 'It has an owner: whoever holds a phone to it and enters a wallet before you goes first.',
    email: 'Email address',
    emailHint: 'name@example.com',
    send: 'Keep it by email',
    sent: 'Six digits are on their way to {email}. They are good for ten minutes.',
    bounced: 'The email could not be delivered to {email}. Check the address.',
    code: 'Six digits from the email',
    keep: 'Keep it for me',
    tries: '{count, plural, one {One try is} other {# tries are}} left.',
    again: 'Another address, or a new email',
    resend: 'Send a new email',
    kept: 'Kept for you until {day, date}. A link was emailed to you: open it once you have a wallet.',
    keptBounced:
      'Kept for you until {day, date}, but the email with the link could not be delivered. Hold your phone to the chip again later, and ask for it once more.',
    elsewhereTitle: 'Is it kept for you?',
    elsewhere: 'Enter your email address for a new link. The link before it ends then.',
    link: 'Send a new link',
    linkSent: 'If it is kept for this address, an email with a new link is on its way.',
    invalid: 'This is not an email address. Check it for typing errors.',
    often: 'Too many emails were asked for.',
  },
  kept: {
    state: 'Kept for you until {day, date}',
    explain: 'Enter your wallet, and everything that is kept for you goes there. It costs you nothing.',
    secret: 'Whoever has this link can do that, so do not pass it on.',
    button: 'Send it to this wallet',
    ended: {
      title: 'This is no longer kept for you',
      advice:
        'The time is over, it has a new owner, or the team has released it. Hold your phone to the chip again.',
    },
    unknown: {
      title: 'This link is no longer good',
      advice:
        'A newer email may have a newer link. If you have none, hold your phone to the chip again, and ask for one.',
    },
  },
  mail: {
    codeSubject: '{code} is your code for {piece}',
    code: 'Enter these six digits on the page that opened when you held your phone to the chip. They are good for ten minutes.',
    linkSubject: '{piece} is kept for you',
    link: 'It is kept for you until {day, date}. Once you have a wallet, open this link and enter its address:',
    secret:
      'Whoever has this link can have it sent to a wallet of theirs, so do not pass it on. It works once.',
    forget:
      'Your address is kept encrypted, used for this alone, and forgotten when you name a wallet or the time is over.',
    notYou: 'If this was not you, do nothing.',
  },
  check: {
    claim: 'When you press {button}, it goes to {to}. This cannot be undone.',
    mint: 'When you press {button}, the token is made and goes to {to}. This cannot be undone.',
    register: 'When you press {button}, {to} is registered for step 2, and the wait begins anew: {wait}.',
    registerKept:
      'When you press {button}, {to} stays registered as it is: its wait goes on, and the claim opens on {date}.',
    registerOpen: '{to} is registered already, and its wait is over: do step 2.',
    badge: 'When you press {button}, the badge goes to {to}.',
    guestbook: 'When you press {button}, the entry is recorded for {to}.',
    collect: 'When you press {button}, all that is ticked goes to {to}.',
    collectClaim: 'When you press {button}, all that is ticked goes to {to}. A claim cannot be undone.',
    thisEmail: 'this email address',
  },
  script: {
    genuineAgo: 'Genuine, tapped {time}',
    sending: 'Sending …',
    offline: 'The service cannot be reached. What you typed is still here: try again in a moment.',
    failed: 'The answer could not be read. Your input is still here: try again.',
    busy: 'That is not possible right now. Wait a little, then try again.',
    unknown: 'This may have worked, or not. Load this page again in a moment to see what came of it.',
    wallet: 'Fill in from the wallet in this browser',
    walletShort: 'Wallet',
    walletNamed: 'Fill in from {name}',
    walletAsked: 'The wallet was asked for an address. Look for its window.',
    walletRefused: 'The wallet gave no address. You can type one in instead.',
    walletFailed: 'The wallet does not answer. You can type an address in instead.',
  },
  failures: {
    otherwise: `That did not work. Nothing was used up. ${tapAgain}`,
    otp_used: `This tap was already used for that, on another page or in an app. ${tapAgain}`,
    otp_expired: `The time for this tap is over. ${tapAgain}`,
    otp_missing: `This page has lost its tap. ${tapAgain}`,
    otp_unknown: `This tap is no longer valid. ${tapAgain}`,
    otp_deleted: `The owner of the chip has withdrawn this. ${tapAgain}`,
    otp_unsupported: 'This cannot be done with this chip.',
    recipient_invalid:
      'This was not recognized. Check it for typing errors: an address is 0x and 40 characters, a name looks like name.eth.',
    invalid_input:
      'Something in the form is not right. Enter a wallet address (0x and 40 characters) or a name such as name.eth.',
    chain_unavailable: 'The blockchain does not answer right now. Nothing was used up.',
    chain_not_configured:
      'Names cannot be looked up here. Enter the wallet address itself: 0x and 40 characters.',
    registration_missing: 'This wallet is not registered yet. Do step 1 first.',
    registration_early: 'The waiting time is not over yet. Nothing was used up.',
    registration_expired:
      'The registration has run out. Hold your phone to the chip again, and register once more.',
    registration_same_tap:
      'This step needs another tap. Hold your phone to the chip again, and claim it on the page that opens.',
    token_taken: 'Somebody else did the same at the same moment. Nothing was used up: try again.',
    transaction_refused:
      'The transaction was refused before it was sent. Ask the team that gave you the piece.',
    simulation_reverted:
      'The contract of this piece would refuse that. Nothing was sent or used up. Check the wallet, or ask the team that gave you the piece.',
    reverted:
      'The contract refused the transaction. Hold your phone to the chip again, and try once more; if that does not help, ask the team that gave you the piece.',
    transaction_budget_spent:
      'The team’s budget for today is used up. You lose nothing: hold your phone to the chip again tomorrow.',
    cancelled: `That was given up, and had no effect. ${tapAgain}`,
    conflict:
      'This is not possible right now. Nothing was used up. Try again later; if that does not help, ask the team that gave you the piece.',
    idempotency_conflict:
      'What you entered came too late: another wallet was entered on another page of this tap, and that one counts.',
    rate_limited: 'That was too often in a short time. Nothing was used up.',
    badge_not_active: 'This badge cannot be collected now.',
    badge_codes_gone: 'All badges of this event have been collected.',
    badge_device_used: 'A badge of this event was already collected with this phone.',
    badge_refused:
      'The badge was not given out: this wallet has probably collected it already. Try another wallet.',
    badge_unavailable: 'The badge service does not answer right now. Nothing was used up.',
    store_unavailable: 'This service is busy right now. Nothing was used up.',
    store_full: 'This service is out of space right now. Nothing was used up.',
    outcome_unknown: `This service was interrupted, so this may have worked, or not. ${tapAgain}`,
    too_slow: 'The connection was too slow. Nothing was used up. Try again.',
    claim_kept: 'Somebody keeps this piece by email. Nothing was used up.',
    mail_code_wrong: 'These are not the six digits of the newest email.',
    mail_code_over:
      'These digits are no longer good. Nothing was used up. Hold your phone to the chip again for new ones.',
    not_found: `This is no longer available. ${tapAgain}`,
  },
  mistyped: {
    unknownName: 'There is no wallet behind this name. Check its spelling, or enter the address itself.',
    wrongAddress: 'There is a mistake in this address. Copy it again.',
    otherChain:
      'The part before the colon names another blockchain than this piece’s. Enter your address there, without that part.',
    wrongLength: 'A wallet address is 0x and 40 characters; this has {count}.',
    badge:
      'This was not recognized. Check it for typing errors: an address is 0x and 40 characters, a name is like name.eth. Email addresses work, too.',
  },
  tryAgainIn: {
    seconds: 'Try again in about {count, plural, one {# second} other {# seconds}}.',
    minutes: 'Try again in about {count, plural, one {one minute} other {# minutes}}.',
    hours: 'Try again in about {count, plural, one {one hour} other {# hours}}.',
  },
  moment: { certificate: 'Certificate', date: 'Date', day: '{day, date}', print: 'Print' },
  problem: 'Problem: {title}',
  refused: 'Not accepted',
  refusals: {
    replayed: {
      title: 'This tap was used before',
      advice: 'Every tap gives a link that works once. Hold your phone to the chip again for a fresh one.',
    },
    expired: {
      title: 'The time for this tap is over',
      advice: 'A tap is good for a short time only. Hold your phone to the chip again for a fresh one.',
    },
    'caught-up': {
      title: 'Please hold your phone to the chip again',
      advice:
        'We need to see this chip once more before it works. The page that opens then is the one you want.',
    },
    unknown: {
      title: 'This link belongs to no chip here',
      advice:
        'The link may have been changed along the way, or the chip is not genuine. Hold your phone to the chip again, and open the link that appears.',
    },
    unfilled: {
      title: 'This chip is not set up',
      advice:
        'The link has nothing of the chip’s own in it, so nobody can tell whether it is genuine. Hold your phone to the chip again; if this page comes back, tell whoever gave it to you.',
    },
    malformed: {
      title: 'This link is not complete',
      advice: 'Part of it is missing. Hold your phone to the chip again, and open the link that appears.',
    },
    disabled: {
      title: 'This chip was switched off',
      advice:
        'The team that made it has switched it off, so holding your phone to it again does not help. If it is yours, contact whoever gave it to you.',
    },
  },
  printed: {
    title: 'Hold your phone to the chip',
    advice:
      'This address was printed on a label, so it says nothing about the piece: labels can be copied. The chip itself cannot. Hold your phone to it, and open the link that appears.',
  },
  /** For whoever opens the service's own address. */
  home: {
    title: 'Hold your phone to a chip',
    advice:
      'This address by itself shows nothing. Hold your phone to a chip, and open the link that appears.',
  },
  notFound: 'Not found',
  notNow: 'Not now',
  unable: {
    busy: {
      title: 'Too many at once',
      advice: 'There were many requests from your network. Wait here: this page loads again by itself.',
    },
    often: {
      title: 'Too many tries',
      advice: 'This page was used very often within a minute. Go back to it.',
    },
    away: {
      title: 'This cannot be checked right now',
      advice: 'Your tap was not used up: this page can be loaded again.',
    },
    starting: {
      title: 'One moment, please',
      advice: 'This service is just starting. Your tap was not used up: this page can be loaded again.',
    },
    interrupted: {
      title: 'This may have worked, or not',
      advice: 'This service was interrupted. Hold your phone to the chip again to see what came of it.',
    },
    missing: {
      title: 'There is nothing here',
      advice: 'The address may have been changed along the way. Hold your phone to the chip again.',
    },
    malformed: {
      title: 'This link cannot be read',
      advice: 'Part of it is broken. Hold your phone to the chip again, and open the link that appears.',
    },
    wrong: {
      title: 'Something went wrong here',
      advice:
        'Hold your phone to the chip again. If it happens again, contact the person who gave you the chip.',
    },
  },
} as const satisfies ErrorMessages
