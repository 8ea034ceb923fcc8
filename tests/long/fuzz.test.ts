import { randomInt } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { processesOf, send } from '../support/from-outside.ts'
import { type HostileRequest, hostileRequest, type Known, table } from '../support/hostile-requests.ts'
import { type DaemonProcess, spawnDaemon } from '../support/process.ts'
import { acmeKey, alice, derived, otherKey, seed, uids } from '../support/seeds.ts'
import { inWords, ownMs, probeSteadily } from '../support/steady-probe.ts'
import { tap, tapPath } from '../support/taps.ts'

// Every endpoint, public and admin, with all that a request can have wrong with it. TAPCHIP_FUZZ_SEED repeats a run.

const total = 20_000
const fuzzSeed = Number(process.env.TAPCHIP_FUZZ_SEED ?? randomInt(2 ** 31))
const token = 'adm_fuzz-0123456789abcdef'

let dir: string
let daemon: DaemonProcess
beforeAll(async () => {
  // In memory, where there is room for it: how long a disk takes is not what is measured.
  dir = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'tapchip-fuzz-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  const args = ['--data-dir', join(dir, 'data'), '--port', '0', '--seed', seedFile, '--log-level', 'error']
  daemon = await spawnDaemon(args, { TAPCHIP_ADMIN_TOKEN: token, TAPCHIP_RATE_LIMIT: 'off' })
})
afterAll(async () => {
  await daemon?.kill()
  for (const pid of daemon ? processesOf(daemon.ready.dataDir) : []) process.kill(pid, 'SIGKILL')
  rmSync(dir, { recursive: true, force: true })
})

/** Chips to lose, codes to spend, and the names of what the seed has. */
async function whatThereIs(): Promise<{ known: Known; codes: string[] }> {
  const { url } = daemon.ready
  const admin = { authorization: `Bearer ${token}` }
  const lost = Array.from({ length: 300 }, (_, n) => `04B0${n.toString(16).padStart(8, '0').toUpperCase()}80`)
  const imported = await send(`${url}/admin/chips/import?team=Acme&chipGroup=Fuzz&keySet=101`, {
    method: 'POST',
    headers: { ...admin, 'content-type': 'text/csv' },
    body: `uid,item\n${lost.map((uid) => `${uid},jacket`).join('\n')}\n`,
  })
  expect(imported.text.split('"created"').length - 1).toBe(lost.length)
  const codes: string[] = []
  for (const uid of [...lost.slice(0, 60), uids.twin, uids.events]) {
    const found = await send(url + tapPath(tap(derived, { uid }, 1), '/chips/find'))
    codes.push(found.body.otp.code)
  }
  const contracts = await send(`${url}/admin/contracts?team=Acme`, { headers: admin })
  const addresses = (contracts.body as { address: string }[]).map(({ address }) => address)
  const known: Known = {
    uid: [...Object.values(uids), ...lost, '04827F12647380'],
    tagUID: [...Object.values(uids), ...lost],
    tagUIDs: [[uids.blank], [uids.blank, uids.twin], lost, ['04827F12647380']],
    contractAddress: addresses,
    address: [alice, ...addresses],
    chainId: [31337, '31337', 31337, 1],
    tokenId: ['1', '2', '77', String(2n ** 256n - 1n)],
    recipient: [alice, 'alice.eth', 'nobody.eth', alice.toLowerCase(), `0x${'0'.repeat(40)}`],
    team: ['Acme', 'Acme', 'Other', '1', 'Nobody'],
    chipGroup: ['Jackets', 'Fuzz', 'Prints', '1', 'New'],
    item: ['jacket', 'other-item'],
    itemId: ['jacket', 'other-item'],
    keySet: [101, 102, 103],
    contractId: [1, 2, 3],
    eventId: [1, 2],
    guestbookEventId: [1],
    poapEventId: [1, 2],
    redirectUrl: [
      'https://a.example/',
      'app://x?cb_url=https%3A%2F%2Fa.example',
      '',
      null,
      'javascript:alert(1)',
    ],
    metadata: [
      JSON.stringify({
        name: '',
        collection: '',
        description: '',
        image: '',
        attributes: [],
        media_gallery: [],
      }),
      '{"name":1,"attributes":[{"trait_type":"\\ud800","value":{}}]}',
      '[]',
      'null',
    ],
    segment: ['jacket', 'Acme', ...codes.slice(0, 3)],
    scopes: [['read'], ['edit'], ['all'], ['transfer', 'all'], []],
  }
  return { known, codes }
}

const credentials = (part: string, code: string, n: number): Record<string, string> => {
  if (n % 13 === 0) return {}
  const key = n % 3 === 0 ? otherKey : acmeKey
  return part === 'admin'
    ? { authorization: `Bearer ${token}` }
    : { 'x-svc-api-key': key, ...(n % 2 === 0 ? { 'x-svc-code': code } : {}) }
}

// Without these the rest would be one 401 after the other.
const isOwnGround = ({ method, url }: HostileRequest): boolean =>
  method !== 'GET' && /^\/admin\/(api-keys|admin-tokens)\/(0*[12]|%3[12])\b/.test(url)

/** How long the answer to some endpoints is not waited for: one never ends. */
const isEndless = (key: string): boolean => /^GET \/admin\/(?:taps|events)\/follow$/.test(key)
const timeoutMs = (key: string): number => (isEndless(key) ? 100 : 30_000)

test(`${total} hostile requests meet no 5xx and hold up nobody (seed ${fuzzSeed})`, async () => {
  const { known, codes } = await whatThereIs()
  const targets = table.map((target) => ({
    target,
    requests: fc
      .sample(hostileRequest(target, { known, isLarge: true }), {
        seed: fuzzSeed,
        numRuns: Math.ceil(total / table.length),
      })
      .values(),
  }))
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const health = probeSteadily({
    urls: [`${daemon.ready.url}/healthz`],
    repeat: true,
    everyMs: 10,
    pid: daemon.ready.pid,
  })
  const bad: unknown[] = []
  const statuses: Record<number, number> = {}
  const slow: [number, string, number][] = []
  let sent = 0
  const sender = async () => {
    while (sent < total) {
      const n = sent++
      const { target, requests } = targets[n % targets.length] ?? {}
      const request = requests?.next().value
      // Each backup is a file that stays.
      if (!target || !request || isOwnGround(request) || (target.key === 'POST /admin/backup' && n % 20 > 0))
        continue
      const { method, url, headers, payload } = request
      const at = Date.now()
      const answer = await send(daemon.ready.url + url, {
        method,
        headers: { ...credentials(target.spec.part, codes[n % codes.length] ?? '', n), ...headers },
        ...(payload.length === 0 ? {} : { body: payload }),
        agent,
        timeoutMs: timeoutMs(target.key),
      })
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      slow.push([at, `${target.key} ${payload.length} bytes`, Date.now() - at])
      // A body that is too large is refused while it is still on its way.
      const isBroken = answer.status === 0 && !isEndless(target.key) && payload.length < 1_000_000
      if (answer.status >= 500 || isBroken)
        bad.push({
          key: target.key,
          url: url.slice(0, 300),
          headers,
          payload: payload.toString().slice(0, 300),
          answer: [answer.status, answer.text],
        })
    }
  }
  await Promise.all(Array.from({ length: 4 }, sender))
  const probes = await health.stop()
  agent.destroy()
  console.log(`seed ${fuzzSeed}: ${JSON.stringify(statuses)}; health meanwhile: ${inWords(probes)}`)
  const stalls = probes.filter((probe) => ownMs(probe) > 100)
  // What was under way then, for whoever looks for the cause.
  const causes = stalls.slice(0, 5).map(({ at, ms, waitedMs }) => ({
    ms,
    waitedMs,
    meanwhile: slow
      .filter(([since, , took]) => since <= at + ms && since + took >= at)
      .map(([, what]) => what),
  }))
  expect({ bad: bad.slice(0, 3), causes }).toEqual({ bad: [], causes: [] })
  expect(
    await send(`${daemon.ready.url}/chip-groups`, { headers: { 'x-svc-api-key': acmeKey } }),
  ).toMatchObject({
    status: 200,
  })
}, 200_000)
