import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { processesOf, type Reply, type Sent, send } from '../support/from-outside.ts'
import { type HostileNode, openHostileNode } from '../support/hostile-node.ts'
import { type DaemonProcess, run, spawnDaemon } from '../support/process.ts'
import { acmeKey, derived, otherKey, seed, uids } from '../support/seeds.ts'
import { inWords, ownMs, percentile, probeSteadily } from '../support/steady-probe.ts'
import { tap, tapPath } from '../support/taps.ts'

// A small daemon, all that a hostile client or node can send it, and people who tap meanwhile.

const token = 'adm_hostile-load-0123456789'
const admin = { authorization: `Bearer ${token}` }
const acme = { 'x-svc-api-key': acmeKey }
const chainId = 7
const groupSize = 200_000
const foreignContract = '0x00000000000000000000000000000000000c0de7'

let dir: string
let anvil: Anvil
let node: HostileNode
let daemon: DaemonProcess
let tapUrls: string[]
const sockets: Socket[] = []

const ask = (path: string, sent: Sent = {}) => send(daemon.ready.url + path, { timeoutMs: 60_000, ...sent })

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-hostile-'))
  const seedFile = join(dir, 'seed.json')
  writeFileSync(seedFile, JSON.stringify(seed))
  anvil = await startAnvil(['--block-time', '1', '--chain-id', String(chainId)])
  node = await openHostileNode(anvil.url)
  daemon = await spawnDaemon(['--ephemeral', '--port', '0', '--seed', seedFile], {
    NODE_OPTIONS: '--max-old-space-size=512',
    TAPCHIP_ADMIN_TOKEN: token,
    [`TAPCHIP_RPC_${chainId}`]: node.url,
    [`TAPCHIP_RELAYER_KEY_${chainId}`]: `0x${'61'.repeat(32)}`,
    [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: `0x${'62'.repeat(32)}`,
  })
  const registered = await ask('/admin/contracts', {
    headers: admin,
    body: { team: 'Acme', symbol: 'FAR', name: 'Far', chainId, address: foreignContract },
  })
  expect(registered.status).toBe(200)
  const linked = await ask(`/admin/chips/${uids.plain}/link`, {
    headers: admin,
    body: { token: { contractAddress: foreignContract, chainId, tokenId: '1' } },
  })
  expect(linked.status).toBe(200)
  const rows = Array.from({ length: groupSize }, (_, i) => 1_260_000_000_000_000 + i)
  const imported = await ask('/admin/chips/import?team=Acme&chipGroup=Big&keySet=101&report=failures', {
    method: 'POST',
    headers: { ...admin, 'content-type': 'text/csv' },
    body: `uid\n${rows.join('\n')}\n`,
  })
  expect(imported.text.trim()).toBe(`{"created":${groupSize},"unchanged":0,"failed":0}`)
  // Each of another chip, so that no tap overtakes the one before it.
  tapUrls = rows.slice(0, 6000).map((uid) => {
    const hex = uid.toString(16).toUpperCase().padStart(14, '0')
    return daemon.ready.url + tapPath(tap(derived, { uid: hex }, 1))
  })
}, 120_000)

afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await daemon?.kill()
  for (const pid of daemon ? processesOf(daemon.ready.dataDir) : []) process.kill(pid, 'SIGKILL')
  await node?.close()
  await anvil?.kill()
  rmSync(dir, { recursive: true, force: true })
})

const metadata = (attributes: unknown) => ({
  name: 'n',
  collection: 'c',
  description: 'd',
  image: 'https://img.example/i.png',
  attributes,
  media_gallery: [],
})
const badAttributes = JSON.stringify(metadata([])).replace('[]', `[${'0,'.repeat(489_999)}0]`)
const jsonLines = { 'content-type': 'application/x-ndjson' }

/** Repeats until the time is over, so many at once. */
async function flood(atOnce: number, ms: number, request: () => Promise<Reply>): Promise<Reply[]> {
  const end = Date.now() + ms
  const replies: Reply[] = []
  const sender = async () => {
    while (Date.now() < end) replies.push(await request())
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  return replies
}

const attacks: Record<string, () => Promise<Reply[]>> = {
  'a megabyte of bad attributes, four at once': async () => {
    const event = { name: 'Bad', tokenId: '90', contractId: 2 }
    const asText = { headers: acme, body: { ...event, metadata: badAttributes } }
    const body = JSON.stringify({ ...event, metadata: {} }).replace('{}', badAttributes)
    const asObject = { method: 'POST', headers: { ...acme, 'content-type': 'application/json' }, body }
    const replies = []
    for (const sent of [asText, asObject, asText])
      replies.push(...(await Promise.all(Array.from({ length: 4 }, () => ask('/events', sent)))))
    return replies
  },
  'a redirect for a million chips of others': async () => {
    const tagUIDs = Array.from({ length: 1_000_000 }, (_, i) => String(1_270_000_000_000_000 + i))
    const body = JSON.stringify({ tagUIDs, updates: { redirectUrl: 'https://evil.example/' } })
    const sent = { method: 'PATCH', headers: { ...acme, 'content-type': 'application/json' }, body }
    return [await ask('/chips', sent), await ask('/chips', sent)]
  },
  'metadata of many tokens, and of one that is one large mistake': async () => {
    const place = { contractAddress: foreignContract, chainId, tokenId: '1' }
    const one = `${JSON.stringify({ ...place, metadata: {} }).replace('{}', badAttributes)}\n`
    const many = `${JSON.stringify({ ...place, metadata: metadata([]) })}\n`.repeat(5000)
    const wide = `${JSON.stringify({ uid: uids.jacket, metadata: metadata(Array(20_000).fill({})) })}\n`
    const sends = [one, many, wide.repeat(4), one].map((body) =>
      ask('/phygitals/metadata/batch', {
        method: 'POST',
        headers: { 'x-svc-api-key': otherKey, ...jsonLines },
        body,
      }),
    )
    return Promise.all(sends)
  },
  'keys that are none, at full speed': () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 64 })
    let n = 0
    return flood(64, 5000, () =>
      ask('/chip-groups', { headers: { 'x-svc-api-key': `svc_guess_${++n}` }, agent, from: '127.0.0.66' }),
    ).finally(() => agent.destroy())
  },
  'a node whose errors have 900 kB': async () => {
    node.misbehave = () => ({ error: 'x'.repeat(900_000) })
    const transfer = { contractAddress: foreignContract, chainId, tokenId: '1', recipient: foreignContract }
    const replies = await flood(8, 5000, () => ask('/phygitals/transfer', { headers: acme, body: transfer }))
    node.misbehave = undefined
    expect(replies.map(({ status }) => status)).not.toContain(404)
    return replies
  },
}

/** Bodies that come a byte a second, for as long as they may. */
function trickle(count: number): NodeJS.Timeout {
  const { hostname, port } = new URL(daemon.ready.url)
  const head = `POST /phygitals/transfer/pullable HTTP/1.1\r\nhost: ${hostname}\r\nx-svc-code: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n`
  for (let n = 0; n < count; n += 1) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: '127.0.0.67' })
    socket.on('error', () => undefined)
    socket.write(head)
    sockets.push(socket)
  }
  return setInterval(() => {
    for (const socket of sockets) if (!socket.destroyed) socket.write(' ')
  }, 1000)
}

describe('a daemon with 512 MB of heap', () => {
  test('serves taps through all of it, and answers each with few words', async () => {
    const ticking = trickle(500)
    const taps = probeSteadily({ urls: tapUrls, repeat: false, everyMs: 20, pid: daemon.ready.pid })
    const wrong: Record<string, unknown> = {}
    const since: [string, number][] = []
    for (const [what, attack] of Object.entries(attacks)) {
      since.push([what, Date.now()])
      const replies = await attack()
      const statuses = [...new Set(replies.map(({ status }) => status))].join(', ')
      console.log(`${what}: ${replies.length} requests, answered ${statuses}`)
      const bad = replies.filter(
        ({ status, text }) =>
          (status >= 500 && status !== 503) || status < 200 || (status >= 400 && text.length > 100_000),
      )
      if (bad.length > 0) wrong[what] = bad.slice(0, 3).map(({ status, text }) => [status, text.length])
    }
    const edit = (url: string) =>
      run('tapchip', ['chips', 'edit', '--chip-group', 'Big', '--redirect-url', url, '--yes', '--quiet'], {
        HOME: dir,
        TAPCHIP_URL: daemon.ready.url,
        TAPCHIP_API_KEY: acmeKey,
      })
    since.push(['the edit of a large group', Date.now()])
    const edited = await edit('https://big.example/')
    if (edited.code !== 0) wrong['the edit of a large group'] = edited
    const probes = await taps.stop()
    clearInterval(ticking)
    console.log(`taps meanwhile: ${inWords(probes)}`)
    for (const [index, [what, from]] of since.entries()) {
      const to = since[index + 1]?.[1] ?? Date.now()
      console.log(`${what}: ${inWords(probes.filter(({ at }) => at >= from && at < to))}`)
    }
    expect(wrong).toEqual({})
    expect(probes.filter(({ status }) => status !== 200 && status !== 302).slice(0, 3)).toEqual([])
    expect(probes.length).toBeGreaterThan(300)
    // How fast it is depends on the machine, and is printed; that nothing holds taps up for seconds does not.
    expect(percentile(probes.map(ownMs), 99)).toBeLessThan(1000)
  }, 150_000)

  test('wrote no line about it that is longer than a screen', () => {
    const longest = Math.max(
      ...daemon
        .log()
        .split('\n')
        .map(({ length }) => length),
    )
    expect(longest).toBeLessThan(20_000)
  })

  test('and leaves no chain behind when it is told to end', async () => {
    expect(processesOf(daemon.ready.dataDir).length).toBeGreaterThan(0)
    expect(await daemon.stop()).toBe(0)
    expect(processesOf(daemon.ready.dataDir)).toEqual([])
  })
})
