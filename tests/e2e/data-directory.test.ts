import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { listenerAt } from '../../src/cli/client/address.ts'
import { unreachable } from '../../src/cli/client/connection.ts'
import { dataDirProblem } from '../../src/daemon/store/data-dir/data-dir.ts'
import { bin, run, spawnDaemon } from '../support/process.ts'

let dir: string
let data: string
let database: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'tapchip-e2e-'))
  data = join(dir, 'data')
  database = join(data, 'tapchip.db')
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const withoutChain = { TAPCHIP_DEV_CHAIN: 'off' }
const args = (folder = data) => ['--data-dir', folder, '--port', '0']
const start = (folder?: string) => spawnDaemon(args(folder), withoutChain)
const refused = async (...words: string[]) => {
  const ended = await run('tapchipd', args(), withoutChain)
  expect(ended).toMatchObject({ code: 1, stdout: '' })
  for (const word of words) expect(ended.stderr).toContain(word)
  expect(ended.stderr).not.toContain('    at ')
  return ended
}
const held = async (folder?: string) => (await start(folder)).stop()

describe('a data directory that has held data', () => {
  test.each([
    ['missing', () => rmSync(database)],
    ['empty', () => truncateSync(database)],
  ])('is refused while its database is %s, and nothing is made in its place', async (word, lose) => {
    await held()
    const kept = join(dir, 'kept.db')
    copyFileSync(database, kept)
    lose()
    await refused(word, 'had data before', 'backup', '--data-dir')
    expect(existsSync(database) && readFileSync(database).length > 0).toBe(false)
    copyFileSync(kept, database)
    await held()
  })

  test('is refused while both its database and the name of its installation are missing beside a chain', async () => {
    const first = await spawnDaemon(args(), {})
    await first.stop()
    rmSync(database)
    rmSync(join(data, 'instance'))
    await refused('missing', 'had data before', 'backup')
    expect(existsSync(database)).toBe(false)
  })

  test('is refused with the database of another installation under the same data key', async () => {
    await held()
    const other = join(dir, 'other')
    await spawnDaemon(args(other), {
      ...withoutChain,
      TAPCHIP_DATA_KEY: readFileSync(join(data, 'data.key'), 'utf8').trim(),
    }).then((daemon) => daemon.stop())
    copyFileSync(join(other, 'tapchip.db'), database)
    await refused('is not the one that belongs to this directory')
  })

  test('is refused while its database is a directory, and permissions are not blamed', async () => {
    mkdirSync(database, { recursive: true })
    const { stderr } = await refused('tapchip.db is a directory', 'Move it away')
    expect(stderr).not.toContain('owns')
  })

  test('is refused with a damaged database, with what to do in place of a stack', async () => {
    await held()
    writeFileSync(
      database,
      'no database at all, but some text that is long enough to be looked at'.repeat(100),
    )
    await refused('is damaged', 'backup')
  })

  test('keeps a second daemon out also when the file of its lock was removed', async () => {
    const first = await start()
    try {
      rmSync(join(data, 'daemon.lock'))
      await refused('Another tapchipd uses')
    } finally {
      await first.kill()
    }
    await held()
  })

  test('is kept from no daemon by whoever holds a name that other users of the machine can read or guess', async () => {
    await held()
    const names = [`\0tapchip-data-dir-${statSync(data).dev}-${statSync(data).ino}`]
    const first = await start()
    names.push(...abstractNames().filter((name) => !names.includes(name)))
    await first.stop()
    const others = names.flatMap((path) => {
      const server = createServer().on('error', () => undefined)
      return [server.listen({ path })]
    })
    try {
      await held()
    } finally {
      for (const server of others) server.close()
    }
  })

  test('keeps a second daemon out by every spelling of its path, and lets one in after a kill', async () => {
    const link = join(dir, 'link')
    symlinkSync(data, link)
    const first = await start()
    for (const spelled of [link, `${dir}/./data/`, join(data, '..', 'data')]) {
      const ended = await run('tapchipd', args(spelled), withoutChain)
      expect(ended).toMatchObject({ code: 1, stdout: '' })
      expect(ended.stderr).toContain('Another tapchipd uses')
    }
    rmSync(join(data, 'daemon.lock'))
    expect((await run('tapchipd', args(link), withoutChain)).stderr).toContain('Another tapchipd uses')
    expect((await run('tapchipd', args(link), withoutChain)).stderr).toContain('Another tapchipd uses')
    await first.kill()
    await held(link)
  })
})

/** Names of sockets that every process of this machine can see, whoever owns them. */
const abstractNames = (): string[] =>
  existsSync('/proc/net/unix')
    ? [...readFileSync('/proc/net/unix', 'utf8').matchAll(/ @(\S*tapchip\S*)$/gm)].map(
        ([, name]) => `\0${name}`,
      )
    : []

test('a first start that ended before it held anything starts again', async () => {
  await held()
  // What a kill leaves between the data key and the database.
  for (const name of ['tapchip.db', 'instance']) rmSync(join(data, name))
  await held()
})

test('a data directory that is a file is refused in words', async () => {
  writeFileSync(data, '')
  await refused(`${data} is not a directory`, '--data-dir')
})

describe('what stands in the place of a file of the daemon is named', () => {
  test.each([
    ['a directory for the name of its installation', 'instance', 'is a directory'],
    ['a directory for what tells the command line of it', 'daemon.json', 'daemon.json is a directory'],
    ['a file for the folder of backups', 'backups', 'backups is not a directory'],
  ])('%s', async (_what, name, words) => {
    await held()
    rmSync(join(data, name), { recursive: true, force: true })
    if (name === 'backups') writeFileSync(join(data, name), '')
    else mkdirSync(join(data, name))
    await refused(words, 'Move it away')
  })

  test('a damaged data key', async () => {
    await held()
    writeFileSync(join(data, 'data.key'), 'no key')
    await refused('data.key must contain 64 hex digits', 'backup')
  })

  test('a file for the folder of the chain', async () => {
    await held()
    writeFileSync(join(data, 'dev-chain'), '')
    const ended = await run('tapchipd', args())
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('dev-chain is not a directory')])
    expect(ended.stderr).not.toContain('    at ')
  })
})

test.each([
  [
    ['--ephemeral'],
    { TMPDIR: '/nowhere' },
    2,
    /--ephemeral cannot use \/nowhere: it does not exist.*TMPDIR=DIR/,
  ],
  [['--data-dir', ''], {}, 2, /must not be empty/],
  [
    ['--ephemeral', '--config', '/nowhere'],
    {},
    2,
    /configuration file \/nowhere cannot be read: it does not exist/,
  ],
  [['--ephemeral', '--config', '/'], {}, 2, /configuration file \/ cannot be read: it is a directory/],
  [['--ephemeral', '--seed', '/nowhere'], {}, 1, /seed \/nowhere cannot be read: it does not exist/],
  [
    ['--ephemeral', '--host', 'nope.invalid'],
    {},
    1,
    /nope\.invalid.* cannot be resolved\. Use another --host/,
  ],
  [
    ['--ephemeral', '--host', '192.0.2.1'],
    {},
    1,
    /tapchipd: 192\.0\.2\.1 is not an address of this machine\. Use another --host/,
  ],
])('%j is refused in words', async (given, env, code, words) => {
  const ended = await run('tapchipd', ['--port', '0', ...given], { ...withoutChain, ...env })
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringMatching(words)])
  expect(ended.stderr).not.toMatch(/^ {4}at |E(NOENT|ISDIR)/m)
})

test('a configuration file that is not JSON is not quoted', async () => {
  const file = join(dir, 'config.json')
  writeFileSync(file, 'TOP-SECRET')
  const ended = await run('tapchipd', ['--ephemeral', '--port', '0', '--config', file], withoutChain)
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringContaining('it is not valid JSON')])
  expect(ended.stderr).not.toContain('TOP-SECRET')
})

test('a daemon whose database is a file starts without the driver of PostgreSQL; one with a server has it', async () => {
  const listing = join(dir, 'listing.cjs')
  writeFileSync(
    listing,
    "process.on('exit', () => process.stderr.write(Object.keys(require.cache).join('\\n')))",
  )
  const NODE_OPTIONS = `--require ${listing}`
  const daemon = await spawnDaemon(['--ephemeral', '--port', '0'], { NODE_OPTIONS })
  await daemon.stop()
  expect(daemon.log()).toMatch(/better-sqlite3/)
  expect(daemon.log()).not.toMatch(/dist.postgres\.cjs/)

  // A certificate that is not there ends it before it looks for the server.
  const TAPCHIP_DATABASE_URL = `postgres://127.0.0.1:1/x?sslmode=verify-full&sslrootcert=${dir}/none`
  const served = await run('tapchipd', ['--data-dir', join(dir, 'served'), '--port', '0'], {
    ...{ NODE_OPTIONS, TAPCHIP_DATABASE_URL },
    TAPCHIP_DATA_KEY: 'ab'.repeat(32),
  })
  expect(served.code).toBe(2)
  expect(served.stderr).toMatch(/dist.postgres\.cjs/)
})

test('too few files and connections are named as such, not as a fault of the data directory or its owner', async () => {
  for (const limit of [24, 40]) {
    const limited = ['-c', `ulimit -n ${limit}; exec "$0" "$@"`, process.execPath, bin('tapchipd'), ...args()]
    const { status, stderr } = spawnSync('sh', limited, { env: withoutChain, encoding: 'utf8' })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^tapchipd: This process has reached its limit of open files .*ulimit -n.*\n$/)
  }
  const full = Object.assign(new Error('unable to open database file'), { code: 'SQLITE_CANTOPEN' })
  expect(dataDirProblem(full, data)).toMatchObject({ message: expect.stringContaining('Check who owns it') })
  const many = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', path: data })
  expect(dataDirProblem(many, data)).toMatchObject({ message: expect.stringContaining('ulimit -n') })
  const call = unreachable(listenerAt('http://127.0.0.1:8484'), many)
  expect(`${call.message} ${call.advice}`).toMatch(/too many files .* are open\. Raise the limit/)
})
