import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answered } from '../support/admin.ts'
import { adminToken } from '../support/daemon.ts'
import { type Call, type Fleet, startFleet } from '../support/fleet.ts'
import { openRemoteChain, type RemoteChain } from '../support/remote-chain.ts'
import { derived, seed } from '../support/seeds.ts'

const rounds = Number(process.env.TAPCHIP_RACES ?? 3)
const ten = Array.from({ length: 10 }, (_, n) => n)
const chainId = 7

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

const statuses = (answers: readonly Answered[]) => answers.map(({ status }) => status).toSorted()
const oneOfTen = [200, ...Array.from({ length: 9 }, () => 409)]

test('a team, an API key, an admin token, a key set, a group, and a contract of one name are made once', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const name = `Race ${round}`
    const id = 500 + round
    const wanted: [string, object][] = [
      ['teams', { name }],
      ['api-keys', { team: 'Acme', name }],
      ['admin-tokens', { name, scopes: ['read'] }],
      ['key-sets', { ...derived, id }],
      ['chip-groups', { team: 'Acme', name }],
      ['contracts/deploy', { team: 'Acme', symbol: `R${round}`, name, chainId }],
    ]
    for (const [path, body] of wanted) {
      const made = await race((call) => call(`POST /admin/${path}`, body))
      expect([path, statuses(made)], made.map(({ text }) => text).join('\n')).toEqual([path, oneOfTen])
      const refused = made.filter(({ status }) => status === 409)
      expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(['already_exists']))
    }
    const [one, other] = calls as [Call, Call]
    for (const list of [
      'teams',
      'api-keys?team=Acme',
      'admin-tokens',
      'contracts?team=Acme',
      'chip-groups?team=Acme',
    ]) {
      const [here, there] = await Promise.all([one(`GET /admin/${list}`), other(`GET /admin/${list}`)])
      const named = here.body.filter((row: { name: string }) => row.name === name)
      expect([list, named.length]).toEqual([list, 1])
      expect(there.text).toBe(here.text)
    }
  }
}, 600_000)

test('an import that two daemons undo at once is undone once, and one that both make is made once', async () => {
  for (let round = 0; round < rounds; round += 1) {
    const batch = `b_1hq3v9k7s2m4y${round.toString(36)}`
    const uids = ten.map((n) => `04D0${(round * 10 + n).toString(16).padStart(8, '0').toUpperCase()}80`)
    const group = `Undo ${round}`
    const imported = await Promise.all(
      ten.map((n) =>
        fetch(
          `${fleet.daemons[n % 2]?.url}/admin/chips/import?team=Acme&chipGroup=${encodeURIComponent(group)}&keySet=101`,
          {
            method: 'POST',
            headers: {
              authorization: `Bearer ${adminToken}`,
              'content-type': 'text/csv',
              'tapchip-batch': batch,
            },
            body: `uid\n${uids.join('\n')}\n`,
          },
        ).then((response) => response.text()),
      ),
    )
    // Of one batch, whoever asks again hears what was made.
    expect(imported.join('').match(/"created"/g), imported.join('')).toHaveLength(10 * uids.length)
    const listed = async () => {
      const groups = (await (calls[0] as Call)('GET /admin/chip-groups?team=Acme')).body
      return groups.find(({ name }: { name: string }) => name === group)
    }
    expect(await listed()).toMatchObject({ chips: uids.length })
    const undone = await race((call) => call('POST /admin/chips/import/undo', { batch, uids }))
    expect(statuses(undone), undone.map(({ text }) => text).join('\n')).toEqual(ten.map(() => 200))
    for (const at of uids.keys())
      expect(undone.filter(({ body }) => body[at].status === 'removed')).toHaveLength(1)
    const states = new Set(undone.flatMap(({ body }) => body.map(({ status }: { status: string }) => status)))
    expect(states).toEqual(new Set(['removed', 'unchanged']))
    expect(await listed()).toMatchObject({ chips: 0 })
  }
}, 600_000)
