import { type Address, getAddress } from 'viem'
import { guestbookAbi } from '../../src/daemon/chain/artifacts/guestbook.ts'
import { reconcileChains } from '../../src/daemon/process/start.ts'
import { allSettled, type Options, openTestApp, type TestApp } from './daemon.ts'
import { type Asked, chipUid } from './phygitals.ts'
import { acmeKey, derived, otherKey } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

// A guestbook with two events and chips that are assigned to the first, and chips that carry nothing.

export const seeded = { assigned: (n: number) => chipUid(n), blank: (n: number) => chipUid(100 + n) }
export const foreignGuestbook: Address = '0x27b1fdb04752bbc536007a920d24acb045561c26'

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

export const guestbookSeed = {
  version: 1,
  keySets: [derived],
  names: { 'bob.eth': '0xde709f2102306220921060314715629080e2fb77' },
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId: 31337 }],
      chipGroups: [
        {
          name: 'Doors',
          chips: [
            ...range(12).map((n) => ({ uid: seeded.assigned(n), keySet: 101 })),
            ...range(6).map((n) => ({ uid: seeded.blank(n), keySet: 101 })),
            // In decimal its UID has 14 digits, as one in hex has.
            { uid: '000B3A73CE2FF2', keySet: 101 },
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
              metadata: { name: 'Opening' },
              chips: range(12).map(seeded.assigned),
            },
            { name: 'Closing', tokenId: '2', metadata: { name: 'Closing' } },
          ],
        },
        {
          symbol: 'FAR',
          name: 'Elsewhere',
          chainId: 31337,
          address: foreignGuestbook,
          events: [{ name: 'Far', tokenId: '1' }],
        },
      ],
    },
    {
      name: 'Other',
      apiKeys: [{ name: 'ops', key: otherKey }],
      chipGroups: [{ name: 'Others', chips: [{ uid: '04827F12647380', keySet: 101 }] }],
    },
  ],
}

export const metadata = (name: string) =>
  JSON.stringify({
    name,
    collection: 'Guests',
    description: '',
    image: 'https://img.acme.example/door.png',
    attributes: [{ trait_type: 'Place', value: 'Berlin' }],
    kept: { as: 'it is' },
  })

/** What those who use guestbooks do, over any application. */
export function handsOf(t: TestApp) {
  const counters = new Map<string, number>()
  return {
    ...t,
    async ask(url: string, body?: object, { method, key = acmeKey, code, headers }: Asked = {}) {
      const answer = await t.app.inject({
        method: method ?? (body ? 'POST' : 'GET'),
        url,
        headers: {
          ...(code ? { 'x-svc-code': code } : { 'x-svc-api-key': key }),
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body ? { payload: JSON.stringify(body) } : {}),
      })
      return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
    },
    nextTap(uid: string) {
      const counter = (counters.get(uid) ?? 0) + 1
      counters.set(uid, counter)
      return tap(derived, { uid }, counter)
    },
    /** Taps a chip and queries the ref. */
    async tapped(uid: string) {
      const page = await t.app.inject({ url: tapPath(this.nextTap(uid)) })
      const ref = /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
      return (await this.ask(`/refs/${ref}`)).body
    },
    /** Taps a chip. @returns the code for its first guestbook event */
    async code(uid: string): Promise<string> {
      return (await this.tapped(uid)).guestbookEvents[0].otp
    },
    contract: (symbol: string) =>
      t.ctx.db.read
        .selectFrom('contracts')
        .selectAll()
        .where('symbol', '=', symbol)
        .executeTakeFirstOrThrow(),
    transactions: () => t.ctx.db.read.selectFrom('transactions').selectAll().orderBy('id').execute(),
    settled: () => allSettled(t.ctx),
    /** How many tokens of an event somebody has by the chain, once what is recorded has been mined. */
    async balance(symbol: string, tokenId: number, of: string): Promise<number> {
      await allSettled(t.ctx)
      const { address } = await this.contract(symbol)
      return Number(
        await t.ctx.chains.get(31337).client.readContract({
          abi: guestbookAbi,
          address: getAddress(address),
          functionName: 'balanceOf',
          args: [getAddress(of), BigInt(tokenId)],
        }),
      )
    },
  }
}

export type Guestbooks = ReturnType<typeof handsOf>

export const openGuestbooks = async (options: Options = {}): Promise<Guestbooks> =>
  handsOf(await openTestApp({ seed: guestbookSeed, chain: true, ...options }))

/** With a chain that nothing is sent to until `begin`. */
export async function openWaiting(options: Options = {}) {
  const t = await openTestApp({
    seed: guestbookSeed,
    ...options,
    env: { TAPCHIP_DEV_CHAIN: 'on', ...options.env },
  })
  return {
    ...handsOf(t),
    begin: () => {
      t.ctx.start()
      return reconcileChains(t.ctx)
    },
  }
}
