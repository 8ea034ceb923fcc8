import type { InjectOptions } from 'fastify'
import { type Address, getAddress } from 'viem'
import { onTestFinished } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { allSettled, type Options, openTestApp } from './daemon.ts'
import { acmeKey, alice, derived, jacketItem, otherKey } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

// Two contracts, one of which asks for two taps, with chips that carry their tokens.

export const bob: Address = '0xde709f2102306220921060314715629080e2fb77'
export const carol: Address = '0x52908400098527886e0f7030069857d2e4169ee7'

/** The UID of the n-th chip, 14 hex digits. */
export const chipUid = (n: number): string => `04A0${n.toString(16).padStart(8, '0').toUpperCase()}80`

const metadata = (n: number) => ({
  name: `Jacket #${n}`,
  collection: 'Jackets',
  description: 'A shell jacket',
  image: 'https://img.acme.example/jacket.png',
  attributes: [{ trait_type: 'Size', value: 'M' }],
  media_gallery: [],
})

export const chips = {
  /** Tokens 1 to 20 of JKT, minted to Alice. */
  jacket: (n: number) => chipUid(n),
  /** Tokens 1 to 3 of ART, which asks for two taps. */
  art: (n: number) => chipUid(100 + n),
  /** Bound to the item, with no token. */
  unminted: (n: number) => chipUid(200 + n),
  /** Of token 21 of JKT, which nobody has. */
  lazy: chipUid(21),
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

export const phygitalSeed = {
  version: 1,
  keySets: [derived],
  names: { 'alice.eth': alice, 'bob.eth': bob },
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [
        { symbol: 'JKT', name: 'Jackets', chainId: 31337 },
        { symbol: 'ART', name: 'Art', chainId: 31337, twoTap: { delaySeconds: 60, windowSeconds: 600 } },
      ],
      items: [jacketItem, { id: 'poster', name: 'Poster', description: '', imageUrl: '' }],
      chipGroups: [
        {
          name: 'Jackets',
          chips: [
            ...range(20).map((n) => ({
              uid: chips.jacket(n),
              keySet: 101,
              token: { contract: 'JKT', tokenId: String(n), owner: alice, metadata: metadata(n) },
            })),
            { uid: chips.lazy, keySet: 101, token: { contract: 'JKT', tokenId: '21' } },
            ...range(3).map((n) => ({
              uid: chips.art(n),
              keySet: 101,
              token: { contract: 'ART', tokenId: String(n), owner: alice },
            })),
            ...range(4).map((n) => ({ uid: chips.unminted(n), keySet: 101, item: 'jacket', variant: 's' })),
            { uid: chips.unminted(9), keySet: 101, item: 'poster' },
          ],
        },
      ],
    },
    { name: 'Other', apiKeys: [{ name: 'ops', key: otherKey }] },
  ],
}

export interface Asked {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  key?: string
  code?: string
  headers?: Record<string, string>
}

/** The application with its chain, and the hands of those who use it. */
export async function openPhygitals(options: Options = {}) {
  const t = await openTestApp({ seed: phygitalSeed, chain: true, ...options })
  const counters = new Map<string, number>()
  const contracts = await t.ctx.db.read.selectFrom('contracts').selectAll().execute()
  const addressOf = (symbol: string): Address =>
    getAddress(contracts.find((contract) => contract.symbol === symbol)?.address ?? '')

  const ask = async (url: string, body?: object, { method, key, code, headers }: Asked = {}) => {
    const request: InjectOptions = {
      method: method ?? (body ? 'POST' : 'GET'),
      url,
      headers: {
        ...(key ? { 'x-svc-api-key': key } : {}),
        ...(code ? { 'x-svc-code': code } : {}),
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(body ? { payload: JSON.stringify(body) } : {}),
    }
    const answer = await t.app.inject(request)
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }

  return {
    ...t,
    ask,
    addressOf,
    token: (symbol: string, n: number | string) => ({
      contractAddress: addressOf(symbol),
      chainId: 31337,
      tokenId: String(n),
    }),
    /** Taps a chip. @returns the ref of its page */
    async refOf(uid: string): Promise<string> {
      const counter = (counters.get(uid) ?? 0) + 1
      counters.set(uid, counter)
      const page = await t.app.inject({ url: tapPath(tap(derived, { uid }, counter)) })
      return /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? ''
    },
    /** Taps a chip and queries the ref: all that it says. */
    async tapped(uid: string) {
      return (await ask(`/refs/${await this.refOf(uid)}`)).body
    },
    /** Taps a chip. @returns the code for its token */
    async code(uid: string): Promise<string> {
      const ref = await this.tapped(uid)
      return ref.linkedToken?.otp ?? ref.otp
    },
    /** Who owns a token by the chain, once what is recorded has been mined. */
    async owner(symbol: string, n: number | string): Promise<Address | undefined> {
      await allSettled(t.ctx)
      return ownerOf(t.ctx.chains.get(31337).client, addressOf(symbol), BigInt(n))
    },
    settled: () => allSettled(t.ctx),
    transactions: () => t.ctx.db.read.selectFrom('transactions').selectAll().orderBy('id').execute(),
  }
}

export type Phygitals = Awaited<ReturnType<typeof openPhygitals>>

/** Closed when the test ends. */
export async function phygitalsForTest(options?: Parameters<typeof openPhygitals>[0]): Promise<Phygitals> {
  const p = await openPhygitals(options)
  onTestFinished(() => p.close())
  return p
}
