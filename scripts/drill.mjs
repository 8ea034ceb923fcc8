// A machine burns, and is replaced from a backup by the commands of docs/restore.md alone: `npm run drill`.
// Options: --chips N (5000). It prints how long each step took, and exits with 1 if anything was lost or done twice.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { privateKeyToAddress } from 'viem/accounts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { values } = parseArgs({ options: { chips: { type: 'string', default: '5000' } } })
const chipCount = Number(values.chips)
const limitMs = 600_000
const chainId = 7
const apiKey = 'svc_drill_only_000000000000000'
const relayerKey = '31'.repeat(32)
const adminToken = 'adm_drill_only_0000000000'
const [alice, bob, carol] = ['a1', 'b2', 'c3'].map((byte) => `0x${byte.repeat(20)}`)
const keySet = {
  id: 101,
  metaReadKey: '7b'.repeat(16),
  fileReadKey: 'e1'.repeat(16),
  diversification: 'an10922',
  macInputFrom: 'd',
}

const place = mkdtempSync(join(tmpdir(), 'tapchip-drill-'))
const elsewhere = join(place, 'elsewhere')
const ending = []
const timings = []
const failures = []

const timed = async (what, work) => {
  const from = performance.now()
  const result = await work()
  timings.push([what, performance.now() - from])
  return result
}
const check = (what, isSo) => {
  if (!isSo) failures.push(what)
  process.stdout.write(`  ${isSo ? 'ok    ' : 'FAILED'} ${what}\n`)
}

const uidOf = (n) => `04A0${n.toString(16).padStart(8, '0').toUpperCase()}80`
const sheet = (columns, rows) => `${[columns, ...rows].map((cells) => cells.join(',')).join('\n')}\n`

const seed = {
  version: 1,
  keySets: [keySet],
  teams: [
    {
      name: 'Acme',
      apiKeys: [{ name: 'drill', key: apiKey }],
      contracts: [
        { symbol: 'HERE', name: 'Embedded', chainId: 31337 },
        { symbol: 'FAR', name: 'External', chainId },
      ],
    },
  ],
}

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return String(port)
}

const anvilProgram = () => {
  try {
    return join(
      dirname(createRequire(import.meta.url).resolve('@foundry-rs/anvil-linux-amd64/package.json')),
      'bin',
      'anvil',
    )
  } catch {
    return 'anvil'
  }
}

/** A chain that survives the machine. */
const startChain = async () => {
  const port = await freePort()
  const flags = ['--port', port, '--chain-id', String(chainId), '--block-time', '1', '--silent']
  const child = spawn(anvilProgram(), flags, { stdio: 'ignore' })
  ending.push(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  const rpc = async (method, params = []) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await answer.json()).result
  }
  await until(() => rpc('eth_chainId').catch(() => undefined))
  return { url, rpc }
}

const until = async (isSo) => {
  for (const from = performance.now(); performance.now() - from < 120_000; ) {
    const found = await isSo()
    if (found) return found
    await new Promise((done) => setTimeout(done, 50))
  }
  throw new Error('It took more than two minutes')
}

const run = async (command, args, env) => {
  const child = spawn(command, args, { env: { PATH: process.env.PATH, ...env }, cwd: place })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => (stdout += chunk))
  child.stderr.on('data', (chunk) => (stderr += chunk))
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

/** A machine: its own home, and nothing of another one. */
const machine = (name, chain) => {
  const home = join(place, name)
  mkdirSync(join(home, 'bin'), { recursive: true })
  const tapchip = join(root, 'bin', 'tapchip.js')
  writeFileSync(join(home, 'bin', 'tapchip'), `#!/bin/sh\nexec "${process.execPath}" "${tapchip}" "$@"\n`, {
    mode: 0o755,
  })
  const env = {
    HOME: home,
    PATH: `${join(home, 'bin')}:${process.env.PATH}`,
    NO_COLOR: '1',
    TAPCHIP_ADMIN_TOKEN: adminToken,
    TAPCHIP_API_KEY: apiKey,
    TAPCHIP_RATE_LIMIT: 'off',
    [`TAPCHIP_RPC_${chainId}`]: chain.url,
    [`TAPCHIP_CONFIRMATIONS_${chainId}`]: '1',
    [`TAPCHIP_RELAYER_KEY_${chainId}`]: relayerKey,
    [`TAPCHIP_SIGN_VERIFIER_KEY_${chainId}`]: '32'.repeat(32),
  }
  const cli = async (...args) => {
    const ran = await run(process.execPath, [tapchip, ...args], env)
    if (ran.code !== 0) throw new Error(`tapchip ${args.join(' ')} ended with ${ran.code}:\n${ran.stderr}`)
    return ran.stdout
  }
  const get = async (path, headers = {}) =>
    (await fetch(env.TAPCHIP_URL + path, { headers, redirect: 'manual' })).json()
  return {
    home,
    env,
    cli,
    json: async (...args) => JSON.parse(await cli(...args, '--json')),
    /** A tap's answer, by the URL that the chip showed. */
    find: (url) => get(`/chips/find${new URL(url).search}`),
    open: async (url) =>
      (await fetch(url.replace(/^https?:\/\/[^/]+/, env.TAPCHIP_URL), { redirect: 'manual' })).text(),
    get,
  }
}

/** The daemon and its chain, which would outlive it. */
const endMachine = ({ home }, daemonPid) => {
  const file = join(home, 'data', 'dev-chain', 'anvil.json')
  const chain = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).pid : 0
  for (const pid of [daemonPid, chain]) if (pid > 1) process.kill(pid, 'SIGKILL')
}

const refIn = (page) => /data-ref="([^"]+)"/.exec(page)?.[1] ?? ''

const settled = (at) =>
  until(async () => {
    const all = await at.json('transactions', 'list', '--limit', '1000')
    return all.every(({ state }) => /confirmed|reverted|cancelled/.test(state))
  })

/** `Transfer(address,address,uint256)`. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** The commands of the page, as they stand there. */
const commandsOfPage = () => {
  const page = readFileSync(join(root, 'docs', 'restore.md'), 'utf8')
  const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(page) ?? []
  return block.split('\n').filter((line) => line !== '')
}

const burn = async () => {
  process.stdout.write(`A machine with ${chipCount} chips, two chains, and transfers on both.\n`)
  const chain = await startChain()
  await chain.rpc('anvil_setBalance', [privateKeyToAddress(`0x${relayerKey}`), '0x8ac7230489e80000'])
  const old = machine('old', chain)
  const write = (name, text) => {
    writeFileSync(join(old.home, name), text)
    return join(old.home, name)
  }
  const seedFile = write('seed.json', JSON.stringify(seed))
  const flags = ['--data-dir', join(old.home, 'data'), '--port', '0', '--seed', seedFile]
  const ready = await old.json('daemon', 'start', ...flags)
  ending.push(() => endMachine(old, ready.pid))
  old.env.TAPCHIP_URL = ready.url
  await settled(old)
  const contracts = await old.json('contracts', 'list')
  const addressOf = (symbol) => contracts.find((contract) => contract.symbol === symbol).address

  const carriers = ['HERE', 'FAR'].flatMap((symbol, at) =>
    [1, 2, 3, 4].map((n) => ({ uid: uidOf(at * 100 + n), symbol, n, chain: at === 0 ? 31337 : chainId })),
  )
  const uidFor = (symbol, n) => carriers.find((one) => one.symbol === symbol && one.n === n).uid
  const bare = write(
    'chips.csv',
    sheet(
      ['uid'],
      Array.from({ length: chipCount }, (_, n) => [uidOf(1000 + n)]),
    ),
  )
  const columns = ['uid', 'contractAddress', 'chainId', 'tokenId']
  const rows = carriers.map(({ uid, symbol, n, chain: id }) => [uid, addressOf(symbol), id, n])
  const into = ['--chip-group', 'Chips', '--key-set', '101', '--simulated']
  await old.cli('chips', 'import', '--file', bare, ...into)
  await old.cli('chips', 'import', '--file', write('carriers.csv', sheet(columns, rows)), ...into)
  const mints = write(
    'mints.csv',
    sheet(
      ['uid', 'recipient'],
      carriers.map(({ uid }) => [uid, alice]),
    ),
  )
  await old.cli('phygitals', 'transfer', '--file', mints, '--yes')
  await settled(old)
  const tap = async (at, uid) => (await at.json('taps', 'simulate', '--uid', uid)).url
  const tapped = Array.from({ length: Math.min(40, chipCount) }, (_, n) => uidOf(1000 + n))
  const before = []
  for (const uid of tapped) before.push(await tap(old, uid))
  for (const url of before) if (!(await old.find(url)).isValidTap) throw new Error('a tap was not valid')
  const ref = refIn(await old.open(await tap(old, uidFor('HERE', 1))))
  const codes = []
  for (const symbol of ['HERE', 'FAR'])
    codes.push((await old.find(await tap(old, uidFor(symbol, 2)))).otp.code)

  old.env.TAPCHIP_BACKUP_PASSPHRASE = 'correct horse'
  const { path } = await timed('backup', () => old.json('backup'))
  delete old.env.TAPCHIP_BACKUP_PASSPHRASE
  cpSync(path, join(elsewhere, 'backup'), { recursive: true })
  writeFileSync(join(elsewhere, 'passphrase'), 'correct horse\n')

  process.stdout.write('It goes on after the backup: taps, codes, a ref, transfers.\n')
  const since = []
  for (const uid of tapped.slice(0, 20)) since.push(await tap(old, uid))
  for (const url of since) if (!(await old.find(url)).isValidTap) throw new Error('a tap was not valid')
  for (const code of codes) await old.cli('phygitals', 'transfer', '--code', code, '--recipient', bob)
  if (!(await old.get(`/refs/${ref}`)).isValidRef) throw new Error('the ref was not valid')
  const moves = sheet(
    ['uid', 'recipient'],
    [3, 4].map((n) => [uidFor('FAR', n), carol]),
  )
  const batch = join(elsewhere, 'moves.csv')
  writeFileSync(batch, moves)
  await old.cli('phygitals', 'transfer', '--file', batch, '--yes')
  await settled(old)
  const sent = async () =>
    (
      await chain.rpc('eth_getLogs', [
        { fromBlock: '0x0', address: addressOf('FAR'), topics: [transferTopic] },
      ])
    ).length
  const sentBefore = await sent()

  process.stdout.write('The machine burns.\n')
  endMachine(old, ready.pid)
  ending.pop()
  rmSync(old.home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })

  const port = await freePort()
  const next = machine('new', chain)
  Object.assign(next.env, {
    TAPCHIP_URL: `http://127.0.0.1:${port}`,
    BACKUP: join(elsewhere, 'backup'),
    DATA_DIR: join(next.home, 'data'),
    PASSPHRASE_FILE: join(elsewhere, 'passphrase'),
    PORT: port,
  })
  const from = performance.now()
  for (const line of commandsOfPage()) {
    process.stdout.write(`$ ${line}\n`)
    const ran = await timed(line, () => run('sh', ['-ec', line], next.env))
    process.stdout.write(`${(ran.stdout + ran.stderr).trim().replaceAll(/^/gm, '  ')}\n`)
    if (line.includes('daemon start')) {
      const pid = Number(/Pid: +(\d+)/.exec(ran.stdout)?.[1])
      if (pid > 1) ending.push(() => endMachine(next, pid))
    }
    check(`\`${line.split(' ').slice(0, 3).join(' ')}\` succeeds`, ran.code === 0)
  }
  const tookMs = performance.now() - from

  await timed('checks', async () => {
    const status = await next.get('/admin/status', { authorization: `Bearer ${adminToken}` })
    check('all chips are there', status.counts.chips === chipCount + carriers.length)
    const valid = []
    for (const url of [...before, ...since]) if ((await next.find(url)).isValidTap) valid.push(url)
    check('no tap from before the loss is valid, whether the backup knows it or not', valid.length === 0)
    const caught = tapped.slice(0, 20)
    const others = tapped.slice(20)
    const answers = async (uids) => {
      const all = []
      for (const uid of uids) all.push((await next.find(await tap(next, uid))).isValidTap)
      return all
    }
    // The simulated counter is that of the backup, so these counters were seen already.
    await answers(caught)
    check('a chip that has caught up is valid at its next tap', (await answers(caught)).every(Boolean))
    check(
      'the first tap of a chip only catches up',
      (await answers(others)).every((isValid) => !isValid),
    )
    check('the second one is valid', (await answers(others)).every(Boolean))
    check(
      'the ref that was queried since is not valid',
      (await next.get(`/refs/${ref}`)).isValidRef === false,
    )
    const used = await Promise.all(codes.map((code) => next.get(`/otps/${code}`)))
    check(
      'the codes that were used since are not good',
      used.every((code) => code.isExpired),
    )
    await settled(next)
    const again = await next.cli('phygitals', 'transfer', '--file', batch, '--yes', '--json')
    const states = again
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).status)
    check('transfers that were sent since are found unchanged', states.join() === 'unchanged,unchanged')
    await settled(next)
    check('no transaction was sent twice', (await sent()) === sentBefore)
    await next.cli('phygitals', 'transfer', '--uid', uidFor('FAR', 1), '--recipient', bob, '--yes')
    await settled(next)
    check('a new transfer is sent, once', (await sent()) === sentBefore + 1)
  })
  process.stdout.write('\n')
  for (const [what, ms] of timings) process.stdout.write(`${(ms / 1000).toFixed(1).padStart(7)} s  ${what}\n`)
  check(`the machine is replaced in ${(tookMs / 1000).toFixed(1)} s, of ten minutes`, tookMs < limitMs)
}

try {
  await burn()
} catch (error) {
  failures.push(String(error?.stack ?? error))
} finally {
  for (const end of ending.reverse()) {
    try {
      end()
    } catch {
      // It has ended.
    }
  }
  rmSync(place, { recursive: true, force: true })
}
for (const failure of failures) process.stderr.write(`FAILED: ${failure}\n`)
process.exitCode = failures.length === 0 ? 0 : 1
