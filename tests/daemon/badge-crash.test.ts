import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventForm, poapEnv, wallet } from '../support/badges.ts'
import { type Fault, faults } from '../support/poap/faults.ts'
import { PoapStandIn } from '../support/poap/stand-in.ts'
import { spawnDaemon } from '../support/process.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const adminToken = 'adm_badge-crash-0123456789'

/** The executable on a stand-in of POAP; what is killed is begun again on the same data. */
async function open() {
  const dataDir = mkdtempSync(join(tmpdir(), 'tapchip-badge-crash-'))
  const poap = await PoapStandIn.open()
  onTestFinished(async () => {
    await poap.close()
    rmSync(dataDir, { recursive: true, force: true })
  })
  const seedFile = join(dataDir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const env = poapEnv(poap, {
    TAPCHIP_POAP_POLL_SECONDS: '1',
    TAPCHIP_POAP_TIMEOUT_MS: '8000',
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_RATE_LIMIT: 'off',
    TAPCHIP_DEV_CHAIN: 'off',
  })
  const args = ['--data-dir', dataDir, '--port', '0', '--seed', seedFile, '--log-level', 'warn']
  const start = () => spawnDaemon(args, env)
  return { poap, start }
}

type Daemon = Awaited<ReturnType<typeof spawnDaemon>>

const client = ({ ready: { url } }: Daemon) => {
  const json = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(url + path, init)
    return { status: answer.status, body: JSON.parse(await answer.text()) }
  }
  const send = (path: string, headers: Record<string, string>, body: unknown) =>
    json(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const key = { 'x-svc-api-key': acmeKey }
  return {
    mint: (code: string, body: unknown) => send('/badge-events/mint', { 'x-svc-code': code }, body),
    isGood: async (code: string) => (await json(`/otps/${code}`)).body.isExpired === false,
    list: async () =>
      (await json('/admin/badge-events?limit=1', { headers: { authorization: `Bearer ${adminToken}` } }))
        .body[0],
    claims: async (id: number) =>
      (await json(`/admin/badge-events/${id}/claims`, { headers: { authorization: `Bearer ${adminToken}` } }))
        .body,
    tap: async (counter: number) =>
      (await json(tapPath(tap(derived, { uid: uids.blank }, counter), '/chips/find'))).body.otp
        .code as string,
    create: async () => {
      const day = new Date().toISOString().slice(0, 10)
      const { headers, payload } = await eventForm({ startDate: day, endDate: day, expiryDate: day })
      const init = { method: 'POST', headers: { ...key, ...headers }, body: new Uint8Array(payload) }
      const { body } = await json('/badge-events', init)
      await send('/badge-events/assign', key, {
        poapEventId: body.id,
        tagUID: uids.blank,
        endsAt: '2099-01-01T00:00:00Z',
      })
      return body as { id: number; poapResponse: { id: number } }
    },
  }
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`it did not come to: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** Kills the daemon while POAP has a claim and has not answered it. */
async function killedMidClaim(fault: Fault) {
  const { poap, start } = await open()
  const first = await start()
  const before = client(first)
  const event = await before.create()
  const codes = poap.approve(event.poapResponse.id)
  await until('approved', async () => (await before.list()).status === 'active')
  const code = await before.tap(1)
  const body = { recipient: wallet(1), poapEventId: event.id }
  poap.fail('POST /actions/claim-qr', fault)
  const cut = before.mint(code, body).catch(() => 'cut')
  await until('claimed upstream', async () => poap.count('POST /actions/claim-qr') === 1)
  await first.kill()
  expect(await cut).toBe('cut')
  const second = await start()
  onTestFinished(() => second.stop().then(() => undefined))
  const after = client(second)
  const claimedUpstream = () => codes.filter((one) => poap.code(one).claim !== undefined).length
  return { poap, after, event, code, body, claimedUpstream }
}

test.each([
  ['had claimed it', faults.holdAfter],
  ['had not', faults.holdBefore],
])(
  'killed before the answer, where POAP %s: one badge, no code lost',
  async (_what, fault) => {
    const { after, event, code, body, claimedUpstream } = await killedMidClaim(fault)
    await until('settled', async () => (await after.claims(event.id))[0]?.state === 'claimed')
    expect(claimedUpstream()).toBe(1)
    expect((await after.list()).remainingCodesCount).toBe(4)
    expect(await after.isGood(code)).toBe(false)
    // Whoever was cut off asks again, and hears that they have it: once.
    expect((await after.mint(code, body)).status).toBe(200)
    expect((await after.mint(code, body)).status).toBe(401)
    expect(claimedUpstream()).toBe(1)
    const code2 = await after.tap(2)
    expect((await after.mint(code2, { ...body, recipient: wallet(2) })).status).toBe(200)
    expect(claimedUpstream()).toBe(2)
  },
  40_000,
)

test('asked again at once after the restart, it is the same badge', async () => {
  const { after, event, code, body, claimedUpstream } = await killedMidClaim(faults.holdAfter)
  expect((await after.mint(code, body)).status).toBe(200)
  expect(claimedUpstream()).toBe(1)
  expect(await after.claims(event.id)).toMatchObject([{ state: 'claimed', recipient: expect.any(String) }])
})

test('killed while POAP has the next code of a claim: that one is looked up, and no third is taken', async () => {
  const { poap, start } = await open()
  const first = await start()
  const before = client(first)
  const event = await before.create()
  const codes = poap.approve(event.poapResponse.id)
  await until('approved', async () => (await before.list()).status === 'active')
  const code = await before.tap(1)
  const body = { recipient: wallet(1), poapEventId: event.id }
  poap.fail('POST /actions/claim-qr', faults.retryLater(503, '1'), faults.holdAfter)
  expect((await before.mint(code, body)).status).toBe(503)
  poap.ledger.claim(poap.code(codes[0] ?? ''), wallet(9), false)
  // Now the daemon itself goes on with it, with the second code.
  await until('claimed upstream', async () => poap.code(codes[1] ?? '').claim !== undefined)
  await first.kill()
  // Nothing but what the daemon wrote before tells that the second code was its own.
  poap.style.names = 'hidden'
  const second = await start()
  onTestFinished(() => second.stop().then(() => undefined))
  const after = client(second)
  await until('settled', async () => (await after.claims(event.id))[0]?.state === 'claimed')
  expect(poap.count('POST /actions/claim-qr')).toBe(2)
  expect((await after.list()).remainingCodesCount).toBe(3)
  expect((await after.mint(code, body)).status).toBe(200)
})

test('killed while POAP creates an event: the same request again creates no second one', async () => {
  const { poap, start } = await open()
  const first = await start()
  const form = await eventForm()
  const send = async ({ ready: { url } }: Daemon) => {
    const headers = { 'x-svc-api-key': acmeKey, 'idempotency-key': 'spring', ...form.headers }
    const answer = await fetch(`${url}/badge-events`, {
      method: 'POST',
      headers,
      body: new Uint8Array(form.payload),
    })
    return { status: answer.status, code: JSON.parse(await answer.text()).code }
  }
  poap.fail('POST /events', faults.holdAfter)
  const cut = send(first).catch(() => 'cut')
  await until('created upstream', async () => poap.ledger.events.size === 1)
  await first.kill()
  expect(await cut).toBe('cut')
  const second = await start()
  onTestFinished(() => second.stop().then(() => undefined))
  expect(await send(second)).toEqual({ status: 409, code: 'conflict' })
  expect(poap.ledger.events.size).toBe(1)
})
