import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answered } from '../support/admin.ts'
import { adminToken } from '../support/daemon.ts'
import { type Call, type Fleet, startFleet, untilItHolds } from '../support/fleet.ts'
import { openRemoteChain, type RemoteChain } from '../support/remote-chain.ts'
import { acmeKey, derived, jacketItem } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// TAPCHIP_RACES=1000 runs as many of each kind that needs no chain.
const rounds = Number(process.env.TAPCHIP_RACES ?? 3)
const events = Math.min(rounds, 20)
const chainId = 7

const ten = Array.from({ length: 10 }, (_, n) => n)
const uidOf = (n: number): string => `04B0${n.toString(16).padStart(8, '0').toUpperCase()}80`
const wallet = (n: number): string => `0x${n.toString(16).padStart(40, '2')}`
const day = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const badge = (name: string, requestedCodes: number) => ({
  ...{ name, description: name, startDate: day(-1), endDate: day(2), expiryDate: day(9), requestedCodes },
  chips: ten.map(uidOf),
})
const seed = {
  version: 1,
  keySets: [derived],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'ops', key: acmeKey }],
      contracts: [{ symbol: 'JKT', name: 'Jackets', chainId }],
      items: [jacketItem],
      chipGroups: [
        {
          name: 'Jackets',
          chips: ten.map((n) => ({
            uid: uidOf(n),
            keySet: 101,
            redirectUrl: 'https://acme.example/',
            token: { contract: 'JKT', tokenId: String(n + 1) },
          })),
        },
      ],
      guestbookContracts: [
        {
          symbol: 'GB',
          name: 'Guests',
          chainId,
          events: [{ name: 'Opening', tokenId: '1', metadata: { name: 'Opening' }, chips: ten.map(uidOf) }],
        },
      ],
      badgeEvents: Array.from({ length: events }, (_, n) => [
        badge(`Last ${n}`, 1),
        badge(`Device ${n}`, 10),
      ]).flat(),
    },
  ],
}

let chain: RemoteChain
let fleet: Fleet
let calls: Call[]
beforeAll(async () => {
  chain = await openRemoteChain({ chainId })
  fleet = await startFleet({ seed, env: chain.env })
  calls = fleet.daemons.map(({ call }) => call)
}, 60_000)
afterAll(async () => {
  await fleet?.stop()
  await chain?.close()
})

/** Ten at once, five at each daemon. */
const race = (ask: (call: Call, n: number) => Promise<Answered>): Promise<Answered[]> =>
  Promise.all(ten.map((n) => ask(calls[n % 2] as Call, n)))

const good = (answers: readonly Answered[]) => answers.filter(({ status }) => status === 200)

const counters = new Map<string, number>()
function nextTap(uid: string, path: '/t' | '/chips/find'): string {
  const counter = (counters.get(uid) ?? 0) + 1
  counters.set(uid, counter)
  return tapPath(tap(derived, { uid }, counter), path)
}

/** The ref of a new tap, taken at either daemon. */
let turn = 0
async function refOf(uid: string): Promise<string> {
  turn += 1
  const call = fleet.daemons[turn % 2]
  const response = await fetch(`${call?.url}${nextTap(uid, '/t')}`, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? 'http://none').searchParams.get('svcRef') ?? ''
}

/** The codes of a new tap, which the other daemon gives. */
async function codesOf(uid: string) {
  const ref = await refOf(uid)
  const { body } = await (calls[(turn + 1) % 2] as Call)(`GET /refs/${ref}`, undefined, {})
  expect(body.isValidRef).toBe(true)
  return {
    token: body.linkedToken?.otp as string,
    badges: new Map<number, string>(body.badgeEvents.map((e: { id: number; otp: string }) => [e.id, e.otp])),
    guestbook: body.guestbookEvents[0]?.otp as string,
  }
}

const withCode = (code: string, more: Record<string, string> = {}) => ({ 'x-svc-code': code, ...more })

test('a tap is valid once, a ref gives codes once, and a code registers once', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const uid = uidOf(round % 10)
    const path = nextTap(uid, '/chips/find')
    const found = await race((call) => call(`GET ${path}`, undefined, {}))
    expect(
      found.filter(({ body }) => body.isValidTap === true),
      `taps of round ${round}`,
    ).toHaveLength(1)

    const ref = await refOf(uid)
    const asked = await race((call) => call(`GET /refs/${ref}`, undefined, {}))
    const valid = asked.filter(({ body }) => body.isValidRef === true)
    expect(valid, `refs of round ${round}`).toHaveLength(1)
    expect(asked.filter(({ text }) => text.includes('"otp"'))).toHaveLength(1)

    const code = valid[0]?.body.linkedToken.otp
    const registered = await race((call, n) =>
      call('POST /phygitals/claim-registration/pullable', { recipient: wallet(n + 1) }, withCode(code)),
    )
    expect(good(registered), `registrations of round ${round}`).toHaveLength(1)
    const others = registered.filter(({ status }) => status !== 200)
    expect(new Set(others.map(({ body }) => body.code))).toEqual(new Set(['otp_used']))
  }
}, 600_000)

test('the last badge goes to one of ten codes, and a device gets one', async () => {
  const codes = await Promise.all(ten.map((n) => codesOf(uidOf(n))))
  const ids = [...(codes[0]?.badges.keys() ?? [])].sort((a, b) => a - b)
  expect(ids).toHaveLength(2 * events)
  for (const [at, id] of ids.entries()) {
    const isLast = at % 2 === 0
    const minted = await race((call, n) =>
      call(
        'POST /badge-events/mint',
        { recipient: wallet(n + 1), poapEventId: id, ...(isLast ? {} : { deviceId: 'one phone' }) },
        withCode(codes[n]?.badges.get(id) ?? ''),
      ),
    )
    expect(good(minted), JSON.stringify(minted)).toHaveLength(1)
    const others = minted.filter(({ status }) => status !== 200).map(({ body }) => body.code)
    expect(new Set(others)).toEqual(new Set([isLast ? 'badge_codes_gone' : 'badge_device_used']))
    // Of one code, one mint: repeated elsewhere without a key, it is used.
    const again = await race((call) =>
      call(
        'POST /badge-events/mint',
        { recipient: wallet(77), poapEventId: id, deviceId: `${id}` },
        withCode(codes[minted.findIndex(({ status }) => status === 200)]?.badges.get(id) ?? ''),
      ),
    )
    expect(good(again)).toEqual([])
  }
}, 600_000)

test('chips: a UID, and a label, go to one of ten imports', async () => {
  const send = (daemon: number, group: string, sheet: string) =>
    fetch(`${fleet.daemons[daemon % 2]?.url}/admin/chips/import?team=Acme&chipGroup=${group}&keySet=101`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'text/csv' },
      body: sheet,
    }).then((response) => response.text())
  for (let round = 0; round < Math.min(rounds, 100); round += 1) {
    const uid = `04C0${round.toString(16).padStart(8, '0').toUpperCase()}80`
    const same = await Promise.all(ten.map((n) => send(n, 'Same', `uid\n${uid}\n`)))
    expect(
      same.filter((text) => text.includes('"created"')),
      same.join(''),
    ).toHaveLength(1)
    const labelled = await Promise.all(
      ten.map((n) =>
        send(n, 'Labels', `uid,label\n04C1${(round * 10 + n).toString(16).padStart(8, '0')}80,L${round}\n`),
      ),
    )
    expect(
      labelled.filter((text) => text.includes('"created"')),
      labelled.join(''),
    ).toHaveLength(1)
  }
}, 600_000)

test('transfers, signatures and guestbooks: one intent a code, and one a key, whichever daemon is asked', async () => {
  const call = calls[0] as Call
  const intents = async () =>
    (await call('GET /admin/transactions?limit=200')).body.filter((row: { kind: string }) =>
      row.kind.startsWith('phygital-'),
    ).length
  await untilItHolds(async () => {
    const listed = (await call('GET /admin/contracts?team=Acme')).body
    expect(listed.map(({ status }: { status: string }) => status)).toEqual(['confirmed', 'confirmed'])
  })
  const before = await intents()

  const keyed = (await codesOf(uidOf(0))).token
  const asked = await race((ask) =>
    ask(
      'POST /phygitals/transfer/pullable',
      { recipient: wallet(1) },
      withCode(keyed, { 'idempotency-key': 'the-same' }),
    ),
  )
  expect(
    asked.map(({ status }) => status),
    JSON.stringify(asked[0]),
  ).toEqual(ten.map(() => 200))
  expect(new Set(asked.map(({ body }) => body.initialTxHash)).size).toBe(1)

  const bare = (await codesOf(uidOf(1))).token
  const tried = await race((ask, n) =>
    ask('POST /phygitals/transfer/pullable', { recipient: wallet(n + 1) }, withCode(bare)),
  )
  expect(good(tried), JSON.stringify(tried)).toHaveLength(1)
  expect(await intents()).toBe(before + 2)

  const signing = (await codesOf(uidOf(2))).token
  const signed = await race((ask, n) =>
    ask(
      `GET /phygitals/transfer-signature/pullable?recipient=${wallet((n % 2) + 1)}`,
      undefined,
      withCode(signing),
    ),
  )
  expect(new Set(good(signed).map(({ body }) => body.signature)).size, JSON.stringify(signed)).toBe(1)

  const guest = (await codesOf(uidOf(3))).guestbook
  const written = await race((ask, n) =>
    ask('POST /events/mint/self', { recipient: wallet(n + 1) }, withCode(guest)),
  )
  expect(good(written), JSON.stringify(written)).toHaveLength(1)
}, 120_000)
