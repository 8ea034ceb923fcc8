import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Attacked, attackedToken, openAttacked } from '../support/attacked-daemon.ts'
import { processesOf, send, until } from '../support/from-outside.ts'
import { run, spawnDaemon } from '../support/process.ts'
import { askNode } from '../support/relayer.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// What answers to whom, from where, and for how long.

const opened = async (options: Parameters<typeof openAttacked>[0]): Promise<Attacked> => {
  const t = await openAttacked(options)
  onTestFinished(() => t.close())
  return t
}
/** Of the ready line, whatever else stands in it. */
const adminOf = ({ daemon }: Attacked): string =>
  String(Object.entries(daemon.ready).find(([name]) => name === 'admin')?.[1])
const closed = { seed, env: { TAPCHIP_DEV_CHAIN: 'off' } }
const paths = [
  '/admin/teams',
  '/admin/status',
  '/admin/contracts?team=Acme',
  '/metrics',
  '/ADMIN/teams',
  '//admin/teams',
  '/admin/../admin/teams',
]

describe('behind a proxy that passes on everything and says nothing', () => {
  test('administration is not on the listener that the proxy has, whatever the Host', async () => {
    const t = await opened({ ...closed, args: ['--base-url', 'https://tap.example.com'] })
    for (const path of paths)
      for (const host of [
        'localhost',
        '127.0.0.1',
        new URL(t.daemon.ready.url).host,
        'tap.example.com',
        '[::1]',
      ]) {
        const answer = await t.ask(path, { headers: { ...t.admin, host } })
        expect([403, 404]).toContain(answer.status)
        expect(answer.text).not.toMatch(/Acme|nodejs_|tapchip_/)
      }
    // What is for everybody is there.
    const tapped = await t.ask(tapPath(tap(derived, { uid: uids.jacket }, 1)), {
      headers: { host: 'tap.example.com' },
    })
    expect(tapped.status).toBe(302)
  })

  test('it is on a socket in the data directory, for its owner alone, and the CLI finds it by itself', async () => {
    const t = await opened({ ...closed, args: ['--base-url', 'https://tap.example.com'] })
    const [, socketPath = ''] = /^unix:(\/.+)$/.exec(adminOf(t)) ?? []
    expect(socketPath.startsWith(t.dataDir)).toBe(true)
    expect(statSync(socketPath).mode & 0o777).toBe(0o600)
    const teams = await send('http://localhost/admin/teams', { socketPath, headers: t.admin })
    expect([teams.status, teams.body.length]).toEqual([200, 2])
    const cli = await run('tapchip', ['teams', 'list', '--json'], {
      HOME: t.dir,
      TAPCHIP_DATA_DIR: t.dataDir,
      TAPCHIP_URL: t.daemon.ready.url,
      TAPCHIP_ADMIN_TOKEN: attackedToken,
    })
    expect([cli.code, cli.stdout]).toEqual([0, expect.stringContaining('Acme')])
  })

  test('it is also where TAPCHIP_ADMIN_LISTEN says, and on the public listener where TAPCHIP_ADMIN_REMOTE is on', async () => {
    const port = await freePort()
    const args = ['--base-url', 'https://tap.example.com']
    const listen = `127.0.0.1:${port}`
    const beside = await opened({ ...closed, args, env: { ...closed.env, TAPCHIP_ADMIN_LISTEN: listen } })
    expect((await send(`http://${listen}/admin/teams`, { headers: beside.admin })).status).toBe(200)
    expect((await beside.ask('/admin/teams', { headers: beside.admin })).status).not.toBe(200)
    const remote = await opened({ ...closed, args, env: { ...closed.env, TAPCHIP_ADMIN_REMOTE: 'on' } })
    const forwarded = { ...remote.admin, host: 'tap.example.com', 'x-forwarded-for': '203.0.113.9' }
    expect((await remote.ask('/admin/teams', { headers: forwarded })).status).toBe(200)
  })

  test('a start warns of visitors that share one budget, and without a base URL nothing has moved', async () => {
    const behind = await opened({ ...closed, args: ['--base-url', 'https://tap.example.com'] })
    expect(behind.daemon.log()).toContain('TAPCHIP_TRUST_PROXY')
    const local = await opened(closed)
    expect(adminOf(local)).toBe(local.daemon.ready.url)
    expect((await local.ask('/admin/teams', { headers: local.admin })).status).toBe(200)
    expect(local.daemon.log()).not.toContain('TAPCHIP_TRUST_PROXY')
  })
})

describe('guessing', () => {
  test.each(['a', '123456789012345'])('is not made easy by the admin token %s', async (token) => {
    const started = spawnDaemon(['--ephemeral', '--port', '0'], { TAPCHIP_ADMIN_TOKEN: token })
    const said = await started.then(
      async (daemon) => `it started, and ended with ${await daemon.stop()}`,
      (error: Error) => error.message,
    )
    expect(said).toMatch(/exit 2.*TAPCHIP_ADMIN_TOKEN/s)
  })

  test.each([
    ['API keys', '/chip-groups', (n: number) => ({ 'x-svc-api-key': `svc_guess_${n}` })],
    ['admin tokens', '/admin/teams', (n: number) => ({ authorization: `Bearer adm_guess-0123456789-${n}` })],
  ])('at %s comes to an end, and only for who guesses', async (_what, path, headers) => {
    const t = await opened(closed)
    const agent = new Agent({ keepAlive: true, maxSockets: 32 })
    onTestFinished(() => agent.destroy())
    let n = 0
    const statuses: Record<number, number> = {}
    const end = Date.now() + 10_000
    const guesser = async () => {
      while (n < 3000 && Date.now() < end) {
        const { status } = await t.ask(path, { headers: headers(++n), agent, from: '127.0.0.68' })
        statuses[status] = (statuses[status] ?? 0) + 1
      }
    }
    await Promise.all(Array.from({ length: 32 }, guesser))
    expect(statuses[401]).toBeGreaterThan(0)
    expect(statuses[401]).toBeLessThan(1000)
    expect(Object.keys(statuses).filter((status) => !['401', '429'].includes(status))).toEqual([])
    // Somebody else, with the right one, at the same moment.
    const good = { 'x-svc-api-key': acmeKey, ...t.admin }
    expect((await t.ask(path, { headers: good })).status).toBe(200)
    expect((await t.ask(tapPath(tap(derived, { uid: uids.jacket }, 1)))).status).toBe(302)
  })
})

describe('a connection', () => {
  let t: Attacked
  beforeAll(async () => {
    t = await openAttacked({ ...closed, env: { ...closed.env, TAPCHIP_RATE_LIMIT: 'off' } })
  })
  afterAll(() => t?.close())

  test('whose body does not come is ended, and one whose rows come is not', async () => {
    const { hostname, port } = new URL(t.daemon.ready.url)
    const slow = Array.from({ length: 30 }, (_, n) => {
      const socket = connect({ host: hostname, port: Number(port) })
      const headers = [
        'POST /phygitals/transfer/pullable HTTP/1.1\r\nhost: x\r\nx-svc-code: x',
        `POST /phygitals/transfer HTTP/1.1\r\nhost: x\r\nx-svc-api-key: ${acmeKey}`,
        `POST /admin/chip-groups HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${attackedToken}`,
      ][n % 3]
      socket.on('error', () => undefined)
      socket.resume()
      socket.write(`${headers}\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n{`)
      return socket
    })
    const rows = request(`${t.daemon.ready.url}/admin/chips/import?team=Acme&chipGroup=Slow&keySet=101`, {
      method: 'POST',
      headers: { ...t.admin, 'content-type': 'text/csv', 'transfer-encoding': 'chunked' },
    })
    let answered = ''
    const done = new Promise<number>((resolve) => {
      rows.on('response', (answer) => {
        answer.on('data', (chunk: Buffer) => {
          answered += chunk.toString()
        })
        answer.on('end', () => resolve(answer.statusCode ?? 0))
      })
      rows.on('error', () => resolve(0))
    })
    rows.write('uid\n')
    let row = 0
    const began = Date.now()
    const ticking = setInterval(() => {
      rows.write(`${1_280_000_000_000_000 + row++}\n`)
      for (const socket of slow) if (!socket.destroyed && socket.writable) socket.write(' ')
    }, 1000)
    onTestFinished(() => {
      clearInterval(ticking)
      rows.destroy()
      for (const socket of slow) socket.destroy()
    })
    await until(
      'the slow ones are ended',
      async () => slow.every(({ destroyed, readableEnded }) => destroyed || readableEnded) || undefined,
      60_000,
    )
    console.log(`slow bodies were ended within ${((Date.now() - began) / 1000).toFixed(0)} s`)
    await until(
      'the rows went on for longer than that',
      async () => Date.now() - began > 35_000 || undefined,
      40_000,
    )
    clearInterval(ticking)
    rows.end()
    expect(await done).toBe(200)
    expect(answered.split('"created"').length - 1).toBe(row)
  }, 120_000)
})

test('another user of the machine cannot reach the embedded chain past its guard', async () => {
  const t = await opened({ seed })
  const isAnvil = (pid: number) =>
    readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]?.endsWith('anvil')
  // Until it is one, the process is what closes its port to others.
  const anvil = await until('the chain runs', async () => processesOf(t.dataDir).find(isAnvil))
  const addresses = listening(anvil)
  console.log(`the chain listens on ${addresses.length} TCP ports`)
  // Only the superuser can be somebody else, and only on a system that closes the port is there none.
  if (addresses.length === 0 || process.getuid?.() !== 0) return
  // Another program of the machine may have the same port outside of the chain's own network.
  const [chain] = (await t.ask('/admin/chains', { headers: t.admin })).body
  const { hash } = Object(await askNode(chain.rpcUrl, 'eth_getBlockByNumber', ['0x0', false]))
  expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
  const ask = `fetch(process.argv[1],{method:'POST',headers:{'content-type':'application/json'},body:'{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x0",false]}'}).then(async r=>console.log('REACHED',await r.text()),e=>console.log('refused',e.cause?.code))`
  for (const address of addresses) {
    const said = execFileSync(process.execPath, ['-e', ask, `http://${address}`], {
      uid: 65_534,
      gid: 65_534,
      cwd: '/',
      env: { PATH: process.env.PATH ?? '' },
    }).toString()
    expect(said).not.toContain(hash)
  }
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** HOST:PORT of the TCP sockets that a process listens on, as Linux tells. */
function listening(pid: number): string[] {
  const inodes = readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`)) ?? []
    return inode === undefined ? [] : [inode]
  })
  return readFileSync(`/proc/${pid}/net/tcp`, 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && inodes.includes(fields[9] ?? ''))
    .map((fields) => {
      const [ip = '', port = ''] = (fields[1] ?? '').split(':')
      const bytes = (ip.match(/../g) ?? []).reverse().map((byte) => Number.parseInt(byte, 16))
      return `${bytes.join('.')}:${Number.parseInt(port, 16)}`
    })
}
