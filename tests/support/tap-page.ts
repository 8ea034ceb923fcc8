import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Phones } from './phone.ts'
import { chipUid } from './phygitals.ts'
import { spawnDaemon } from './process.ts'
import { acmeKey, alice, derived } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

// A team whose chips open tap pages: jackets, art that asks for two taps, a party with a badge and a guestbook.

export const bob = '0xde709f2102306220921060314715629080e2fb77'
export const carol = '0x52908400098527886E0F7030069857D2E4169EE7'
/** Where the team's media are; nothing else may be asked for anything. */
export const mediaHost = 'img.acme.example'

export const chips = {
  jacket: (n: number): string => chipUid(n),
  art: (n: number): string => chipUid(100 + n),
  party: (n: number): string => chipUid(200 + n),
  unminted: (n: number): string => chipUid(300 + n),
  film: chipUid(399),
  hostile: chipUid(400),
}

const longWord = 'x'.repeat(1000)
const attack = `"><img src=x onerror=alert(1)><script>alert(2)</script><style>*{display:none}</style>`
const hostile = {
  name: `${attack}${longWord}`,
  collection: `‮مجموعة ${attack}`,
  description: `${attack}\n${longWord}`,
  image: `https://${mediaHost}/a.png?x="onerror="alert(3)`,
  animation_url: `https://${mediaHost}/v.mp4' onplay='alert(4)`,
  attributes: [
    { trait_type: attack, value: `javascript:alert(5)//${longWord}` },
    { trait_type: 'اسم طويل', value: 'قيمة' },
  ],
  media_gallery: [
    { media: 'http://plain.example/tracker.png', type: 'image/png' },
    { media: `https://${mediaHost}/g.svg`, type: `image/svg+xml"><script>alert(6)</script>` },
  ],
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
const token = (contract: string, n: number) => ({
  contract,
  tokenId: String(n),
  owner: alice,
  metadata: {
    name: `Jacket #${n}`,
    collection: 'Jackets',
    description: 'A shell jacket.',
    image: `https://${mediaHost}/jacket.png`,
    attributes: [{ trait_type: 'Size', value: 'M' }],
    media_gallery: [{ media: `https://${mediaHost}/back.png`, type: 'image/png' }],
  },
})

const soon = { delaySeconds: 2, windowSeconds: 600 }
const seedWith = (twoTap: typeof soon) => ({
  version: 1,
  keySets: [derived],
  names: { 'alice.eth': alice, 'bob.eth': bob },
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      links: [{ label: `Care ${attack}`, baseUrl: 'https://care.example/' }],
      contracts: [
        { symbol: 'JKT', name: 'Jackets', chainId: 31337 },
        { symbol: 'ART', name: 'Art', chainId: 31337, twoTap },
      ],
      items: [
        {
          id: 'jacket',
          name: 'Jacket',
          description: 'A shell jacket.',
          imageUrl: `https://${mediaHost}/jacket.png`,
          contract: 'JKT',
          media: [{ mimeType: 'image/png', url: `https://${mediaHost}/jacket.png` }],
          attributes: [{ name: 'Size', values: ['S', 'M'] }],
          variants: [{ id: 's', attributes: [{ name: 'Size', value: 'S' }] }],
        },
      ],
      chipGroups: [
        {
          name: 'All',
          chips: [
            ...range(12).map((n) => ({ uid: chips.jacket(n), keySet: 101, token: token('JKT', n) })),
            {
              uid: chips.film,
              keySet: 101,
              token: {
                ...token('JKT', 98),
                metadata: { ...token('JKT', 98).metadata, animation_url: `https://${mediaHost}/film.mp4` },
              },
            },
            ...range(9).map((n) => ({ uid: chips.art(n), keySet: 101, token: token('ART', n) })),
            ...range(9).map((n) => ({ uid: chips.party(n), keySet: 101 })),
            ...range(3).map((n) => ({ uid: chips.unminted(n), keySet: 101, item: 'jacket', variant: 's' })),
            {
              uid: chips.hostile,
              keySet: 101,
              token: { ...token('JKT', 99), metadata: hostile },
            },
          ],
        },
      ],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId: 31337,
          events: [
            {
              name: 'Opening',
              tokenId: '1',
              metadata: { name: 'Opening', description: 'Doors open at nine.' },
              chips: [...range(9).map(chips.party), chips.hostile],
            },
          ],
        },
      ],
      badgeEvents: [
        {
          name: 'Launch walk',
          description: 'Round the lake.',
          startDate: '2026-01-10',
          endDate: '2035-12-31',
          expiryDate: '2036-01-31',
          requestedCodes: 50,
          chips: [...range(9).map(chips.party), chips.hostile],
        },
      ],
    },
  ],
})

/** The built daemon with all of it on its chain. @param env settings beside those of a test; `twoTap` is the art's */
export async function startTapPages(env: Record<string, string> = {}, { twoTap = soon } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tapchip-tap-page-'))
  const file = join(folder, 'seed.json')
  writeFileSync(file, JSON.stringify(seedWith(twoTap)))
  const daemon = await spawnDaemon(['--ephemeral', '--port', '0', '--seed', file], {
    TAPCHIP_EXPLORER_31337: 'https://explorer.example',
    ...env,
  })
  rmSync(folder, { recursive: true })
  const counters = new Map<string, number>()
  return {
    ...daemon,
    /** The URL that a chip shows at its next tap. */
    tapUrl: (uid: string): string => {
      const counter = (counters.get(uid) ?? 0) + 1
      counters.set(uid, counter)
      return daemon.ready.url + tapPath(tap(derived, { uid }, counter))
    },
  }
}

export type TapPages = Awaited<ReturnType<typeof startTapPages>>

// A picture of one transparent pixel.
const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)

/** A phone of somebody new, until the test ends. `asked`: the other hosts that were asked; nothing leaves this machine. */
export async function phoneAt(daemon: TapPages, phones: Phones, options?: Parameters<Phones['phone']>[0]) {
  const phone = await phones.phone(options)
  onTestFinished(() => phone.close())
  const { context } = phone
  const asked: string[] = []
  await context.route(/^https?:\/\/(?!127\.0\.0\.1)/, (route) => {
    asked.push(new URL(route.request().url()).host)
    return route.fulfill({ contentType: 'image/png', body: pixel })
  })
  return { ...phone, asked, tap: (uid: string) => phone.open(daemon.tapUrl(uid)) }
}

/** As if the person went to another app, or came back. */
export const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)

/** One action of the page, as somebody uses it. */
export function action(page: Page, kind: 'claim' | 'register' | 'badge' | 'guestbook') {
  const card: Locator = page.locator(`[data-card^="${kind}-"]`)
  const box = page.locator(`form[data-action="collect"] input[name=choice][value^="${kind}-"]`)
  // Its own form, or the one that it shares with others.
  const form = page.locator(
    `[data-card^="${kind}-"] form[data-action="${kind}"], form[data-action="collect"]:has([value^="${kind}-"])`,
  )
  const status = card.getByRole('status')
  /** Leaves out the others. */
  async function choose(): Promise<void> {
    if ((await box.count()) === 0) return
    for (const one of await page.locator('form[data-action="collect"] input[name=choice]').all())
      await one.setChecked((await one.getAttribute('value'))?.startsWith(`${kind}-`) === true)
  }
  return {
    card,
    /** What ticks it beside others. */
    box,
    choose,
    form,
    status,
    /** What a press would do with what is typed. */
    check: page.locator(
      `[data-card^="${kind}-"] [data-check], [data-card="collect"]:has([value^="${kind}-"]) [data-check]`,
    ),
    field: form.locator('[name=recipient]'),
    button: form.locator('[type=submit]'),
    async send(recipient: string): Promise<void> {
      await choose()
      await form.locator('[name=recipient]').fill(recipient)
      await form.locator('[type=submit]').tap()
    },
    /** Waits until the result is in a state. */
    is: (state: 'pending' | 'confirmed' | 'failed' | 'none') =>
      expect.poll(() => status.getAttribute('data-state').then((now) => now ?? 'none')).toBe(state),
  }
}
