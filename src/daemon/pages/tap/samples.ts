import type { Action, ActionState, Piece, TapPage } from '../../domain/tap-page/content.ts'
import { describePiece } from '../../domain/tap-page/piece.ts'
import { type Failed, failurePage, printedPage, type Refusal, refusalPage } from './refusals.ts'
import type { Page, PageSettings } from './settings.ts'
import { tapPage } from './tap-page.ts'

/** A state of the page that can be viewed without a chip. */
export interface Sample {
  /** Kebab-case; unique. */
  state: string
  /** HTTP status code. */
  status: number
  shows: { page: TapPage } | { printed: true } | { refusal: Refusal } | { failure: Failed }
}

/** Refusals of links that no chip made. */
const strangers: ReadonlySet<Refusal> = new Set(['unknown', 'unfilled', 'malformed'])

const team: Pick<TapPage, 'brand' | 'links'> = {
  brand: { name: 'Acme Outdoor', color: null, background: null, logoUrl: null },
  links: [{ label: 'Care & repair', url: 'https://acme.example/care' }],
}

/** @param overrides replace the samples' own look and piece */
export function samplePage(
  { shows }: Sample,
  settings: PageSettings,
  overrides: Partial<Pick<TapPage, 'brand' | 'piece' | 'ownWords'>> = {},
): Page {
  if ('printed' in shows) return printedPage(settings)
  if ('refusal' in shows) {
    const isChips = !strangers.has(shows.refusal)
    return refusalPage(shows.refusal, settings, isChips ? { ...team, ...overrides } : undefined)
  }
  if ('failure' in shows) return failurePage(shows.failure, settings)
  return tapPage({ ...shows.page, ...overrides }, settings)
}

const recipient = '0x52908400098527886E0F7030069857D2E4169EE7'
const contractAddress = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'
const hash = `0x${'4c1f9a'.repeat(11).slice(0, 64)}`
const transaction = { hash, url: `https://explorer.example/tx/${hash}` }

const jacket: Piece = {
  kind: 'token',
  name: 'Field jacket No. 7',
  collection: 'Acme Outdoor, autumn',
  description:
    'Woven in Biella from recycled wool, cut and sewn by two people in our own workshop. The lining shows the trail map of the valley that it was made in.\n\nWash it cold, and let it dry lying down. If something tears, bring it to any of our shops: we mend it for as long as you own it, and as long as whoever comes after you does. The buttons are horn; spare ones are sewn into the left inner pocket, with a length of the thread.',
  image: 'https://media.example/jacket.webp',
  video: undefined,
  gallery: [1, 2, 3].map((number) => ({
    url: `https://media.example/jacket-${number}.webp`,
    mimeType: undefined,
  })),
  attributes: [
    { name: 'Colour', value: 'Moss' },
    { name: 'Size', value: 'M' },
    { name: 'Material', value: 'Recycled wool' },
    { name: 'Made in', value: 'Biella, Italy' },
  ],
  sections: [{ is: 'care', text: 'Wash it cold, and let it dry lying down.', rows: [] }],
  edition: '7 / 120',
  token: { chainId: 8453, chainName: 'Base', contractAddress, tokenId: '7', url: undefined },
  owner: { address: '0x27b1fdb04752bbc536007a920d24acb045561c26', name: 'mira.eth' },
}

const nothing: Piece = {
  ...describePiece(null, undefined),
  kind: 'chip',
  token: undefined,
  owner: undefined,
}

const action = (kind: Action['kind'], state: ActionState, more: Partial<Action> = {}): Action => ({
  kind,
  id: kind === 'badge' || kind === 'guestbook' ? 3 : 0,
  title: '',
  description: '',
  imageUrl: undefined,
  takesDevice: kind === 'badge',
  state,
  ...more,
})
const badge = (state: ActionState): Action =>
  action('badge', state, {
    title: 'First walk of the season',
    description: 'For everybody who came along on the opening day.',
    imageUrl: 'https://media.example/walk.png',
  })
const guestbook = (state: ActionState): Action =>
  action('guestbook', state, { title: 'Guestbook of the workshop' })

/** @returns all states in a natural order; texts are in English. @param now the samples' current time */
export function samples(now: Date): Sample[] {
  const after = (seconds: number) => new Date(now.getTime() + seconds * 1000).toISOString()
  const good = (state: string, actions: Action[], more: Partial<TapPage> = {}): Sample => ({
    state,
    status: 200,
    shows: {
      page: {
        ref: 'sample_sample_sample_',
        query: '',
        uid: '1303689068602752',
        ...team,
        piece: jacket,
        actions,
        tappedAt: after(-5),
        endsAt: after(1740),
        isLive: false,
        ...more,
      },
    },
  })
  const failed = (code: string, retryAfterSeconds?: number): ActionState => ({
    is: 'open',
    recipient,
    failure: { code, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
  })
  const isOpen: ActionState = { is: 'open' }
  const pending: ActionState = { is: 'pending', recipient, transaction }
  const confirmed: ActionState = { is: 'confirmed', recipient, transaction }
  const registered = (seconds: number, isSameTap: boolean, registeredAt = after(-2)): ActionState => ({
    is: 'registered',
    recipient,
    registeredAt,
    allowedAt: after(seconds),
    expiresAt: after(seconds + 3600),
    isSameTap,
  })
  const twoTaps = (first: ActionState, second: ActionState) => [
    action('register', first, { waitSeconds: 600 }),
    action('claim', second),
  ]
  const asked = {
    ...{ is: 'asked' as const, email: 'mira@example.org', mail: 'sent' as const },
    ...{ triesLeft: 4, until: after(600) },
  }
  const unminted: Piece = { ...jacket, kind: 'item', token: undefined, owner: undefined }
  const video = { url: 'https://media.example/jacket.mp4', poster: 'https://media.example/jacket.webp' }
  return [
    good('everything', [action('claim', isOpen), badge(isOpen), guestbook(isOpen)]),
    good('claim', [action('claim', isOpen)]),
    good('claim-unminted', [action('claim', isOpen)], { piece: unminted }),
    good('claim-yours', [action('claim', isOpen)], {
      piece: { ...jacket, owner: { address: recipient, name: 'mira.eth', isYours: true } },
    }),
    good('claim-pending', [action('claim', pending)], { isLive: true }),
    good('claim-confirmed', [action('claim', confirmed)], {
      piece: { ...jacket, owner: { address: recipient, name: undefined } },
    }),
    good('claim-refused', [action('claim', failed('recipient_invalid'))]),
    good('claim-failed', [action('claim', { is: 'failed', failure: { code: 'reverted' } })]),
    good('chain-away', [action('claim', failed('chain_unavailable', 10))]),
    good('two-taps', twoTaps(isOpen, isOpen)),
    good('two-taps-waiting', twoTaps(registered(540, true), registered(540, true)), { isLive: true }),
    good('two-taps-days', twoTaps(registered(604_800, true), registered(604_800, true)), {
      isLive: true,
    }),
    good('two-taps-second', twoTaps(registered(240, false), registered(240, false)), { isLive: true }),
    good('two-taps-ready', twoTaps(registered(-60, false), registered(-60, false)), { isLive: true }),
    good('badge', [badge(isOpen)]),
    good('badge-pending', [badge(pending)], { isLive: true }),
    good('badge-confirmed', [badge({ is: 'confirmed', recipient: 'mira.eth', transaction: undefined })]),
    good('badge-future', [badge({ is: 'closed', reason: 'future', date: '2030-06-01' })]),
    good('badge-over', [badge({ is: 'closed', reason: 'over', date: '2026-01-31' })]),
    good('guestbook', [guestbook(isOpen)]),
    good('guestbook-confirmed', [guestbook(confirmed)]),
    good('video', [], { piece: { ...jacket, image: undefined, video } }),
    good('used-elsewhere', [action('claim', { is: 'closed', reason: 'used' })]),
    good('time-over', [action('claim', { is: 'closed', reason: 'expired' })], {
      tappedAt: after(-1805),
      endsAt: after(-5),
    }),
    good('seal-closed', [action('claim', isOpen)], { tamper: { is: 'closed' } }),
    good('seal-opened', [action('claim', isOpen)], {
      tamper: { is: 'open', since: '2026-05-02T09:30:00.000Z' },
    }),
    good('reserve', [action('claim', isOpen)], { reserve: { is: 'open', isShared: false } }),
    good('reserve-lost', [badge(isOpen)], { reserve: { is: 'open', isShared: false, mayBeKept: true } }),
    good('reserve-code', [action('claim', isOpen)], { reserve: asked }),
    good('reserve-wrong', [action('claim', isOpen)], {
      reserve: { ...asked, triesLeft: 3, failure: { code: 'mail_code_wrong' } },
    }),
    good('reserve-kept', [action('claim', { is: 'closed', reason: 'kept-here' })], {
      reserve: { is: 'kept', mail: 'sent', until: after(7_776_000), isShared: false },
    }),
    good('reserve-elsewhere', [action('claim', { is: 'closed', reason: 'kept' })], {
      reserve: { is: 'elsewhere' },
    }),
    good('chip-only', [], { piece: nothing, links: [] }),
    ...(['replayed', 'expired', 'caught-up', 'unknown', 'unfilled', 'malformed', 'disabled'] as const).map(
      (refusal): Sample => ({ state: refusal, status: refusedWith[refusal], shows: { refusal } }),
    ),
    { state: 'printed', status: 200, shows: { printed: true } },
    failure('too-many', { status: 429, retryAfterSeconds: 42 }),
    failure('away', { status: 503, retryAfterSeconds: 10 }),
    failure('starting', { status: 503, retryAfterSeconds: 5, isStarting: true }),
    failure('interrupted', { status: 503, code: 'outcome_unknown' }),
    failure('missing', { status: 404 }),
    failure('wrong', { status: 500 }),
  ]
}

const refusedWith = {
  replayed: 410,
  expired: 410,
  'caught-up': 410,
  unfilled: 404,
  unknown: 404,
  malformed: 400,
  disabled: 404,
}

const failure = (state: string, shows: Failed): Sample => ({
  state,
  status: shows.status,
  shows: { failure: shows },
})
