import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventForm, poapEnv } from '../support/badges.ts'
import { openTestStore } from '../support/engines.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { faults } from '../support/poap/faults.ts'
import { PoapStandIn } from '../support/poap/stand-in.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

type Daemon = Awaited<ReturnType<typeof spawnDaemon>>

const key = { 'x-svc-api-key': acmeKey }
const jackets = [1, 2, 3, 4, 5, 6]

/** A page as its browser remembers it. */
interface Opened {
  ref: string
  path: string
  cookie: string
}

async function load(
  { ready: { url } }: Daemon,
  path: string,
  cookie = '',
): Promise<Opened & { body: string }> {
  const answer = await fetch(url + path, { headers: { cookie } })
  const body = await answer.text()
  const ref = /data-ref="([^"]+)"/.exec(body)?.[1] ?? ''
  return { ref, path, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '', body }
}

const press = (
  { ready: { url } }: Daemon,
  { ref }: Opened,
  [kind, id, recipient = bob]: readonly [kind: string, id: number, recipient?: string],
) =>
  fetch(`${url}/t/act`, {
    method: 'POST',
    headers: { accept: 'application/json' },
    body: new URLSearchParams({ ref, kind, id: String(id), recipient }),
  })

/** An event at POAP on a chip, approved and active. */
async function badgeAt({ ready: { url } }: Daemon, poap: PoapStandIn, uid: string): Promise<number> {
  const day = new Date().toISOString().slice(0, 10)
  const { headers, payload } = await eventForm({ startDate: day, endDate: day, expiryDate: day })
  const form = { method: 'POST', headers: { ...key, ...headers }, body: new Uint8Array(payload) }
  const created = (await (await fetch(`${url}/badge-events`, form)).json()) as {
    id: number
    poapResponse: { id: number }
  }
  poap.approve(created.poapResponse.id)
  const json = { ...key, 'content-type': 'application/json' }
  const assignment = JSON.stringify({ poapEventId: created.id, tagUID: uid, endsAt: '2099-01-01T00:00:00Z' })
  await fetch(`${url}/badge-events/assign`, { method: 'POST', headers: json, body: assignment })
  const status = async () =>
    ((await (await fetch(`${url}/badge-events/${created.id}`)).json()) as { status: string }).status
  await expect.poll(status).toBe('active')
  return created.id
}

test('buttons that were pressed as the daemon was killed have one effect each, on the same pages', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-page-crash-'))
  const poap = await PoapStandIn.open()
  onTestFinished(async () => {
    await poap.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(phygitalSeed))
  const env = poapEnv(poap, {
    TAPCHIP_POAP_POLL_SECONDS: '1',
    TAPCHIP_POAP_TIMEOUT_MS: '8000',
    TAPCHIP_RATE_LIMIT: 'off',
  })
  const args = ['--data-dir', dataDir, '--port', '0', '--log-level', 'error', '--seed', seedFile]
  const first = await spawnDaemon(args, env)
  const badge = await badgeAt(first, poap, chips.jacket(1))
  const open = (uid: string) => load(first, tapPath(tap(derived, { uid }, 1)))
  const pages = await Promise.all(jackets.map((n) => open(chips.jacket(n))))
  const art = await open(chips.art(1))
  const [withBadge = art] = pages
  const buttons = [
    [withBadge, ['badge', badge]],
    ...pages.map((page) => [page, ['claim', 0]] as const),
    [art, ['register', 0]],
  ] as const

  // The badge is recorded and not answered; of the others, nobody knows.
  poap.fail('POST /actions/claim-qr', faults.holdAfter)
  const cut = Promise.allSettled(buttons.map(([page, button]) => press(first, page, button)))
  await expect.poll(() => poap.count('POST /actions/claim-qr')).toBe(1)
  await first.kill()
  expect((await cut)[0]?.status).toBe('rejected')

  const second = await spawnDaemon(args, env)
  onTestFinished(() => second.stop().then(() => undefined))
  const again = await Promise.all(buttons.map(([page, button]) => press(second, page, button)))
  expect(again.map(({ status }) => status)).toEqual(buttons.map(() => 200))
  expect((await press(second, withBadge, ['claim', 0, 'alice.eth'])).status).toBe(409)
  const db = await openTestStore(dataDir)
  onTestFinished(() => db.close())
  const moved = () =>
    db.read.selectFrom('transactions').select('state').where('kind', '=', 'phygital-transfer').execute()
  const confirmed = jackets.map(() => ({ state: 'confirmed' }))
  await expect.poll(moved).toEqual(confirmed)
  expect(await db.read.selectFrom('badgeClaims').select('state').execute()).toEqual([{ state: 'claimed' }])
  expect(await db.read.selectFrom('claimRegistrations').selectAll().execute()).toHaveLength(1)
  const registered = db.read.selectFrom('audit').where('action', '=', 'claim-registrations.create')
  expect(await registered.selectAll().execute()).toHaveLength(1)
  const reloaded = await load(second, withBadge.path, withBadge.cookie)
  expect(reloaded.ref).toBe(withBadge.ref)
  expect(reloaded.body.match(/data-state="confirmed"/g)).toHaveLength(2)
})
