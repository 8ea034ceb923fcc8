import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')

function filesBelow(folder: string, names = /\.tsx?$/): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && names.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** Which folder of the house a file lives in. */
const rooms = [
  'src/values',
  'src/client',
  'src/tap-page',
  'src/console',
  'src/cli',
  'src/nfc/ntag424',
  'src/nfc/halo',
  'src/nfc/pcsc',
  'src/nfc/emulator',
  'src/nfc',
  'src/daemon/contract',
  'src/daemon/http',
  'src/daemon/routes',
  'src/daemon/domain',
  'src/daemon/store',
  'src/daemon/chain',
  'src/daemon/badges',
  'src/daemon/pages',
  'src/daemon/seed',
  'src/daemon/outbound',
  'src/daemon/marketplace',
  'src/daemon/mail',
  'src/daemon/process',
] as const
type Room = (typeof rooms)[number]

const roomOf = (file: string): Room | undefined => rooms.find((room) => file.startsWith(`${room}/`))

// Data flows one way: bin → cli → HTTP → routes → domain → store | chain | badges. `src/daemon/process` wires all.
const mayImport: Record<Exclude<Room, 'src/daemon/process'>, readonly Room[]> = {
  // What CLI and daemon must agree on. Everybody may use it, and it uses nobody but the UIDs.
  'src/values': [],
  // Runs in pages: nothing of ours, and nothing of Node's.
  'src/client': [],
  // The tap page's script: likewise.
  'src/tap-page': [],
  // The page of `tapchip console`: types of the wire alone.
  'src/console': ['src/daemon/contract'],
  'src/cli': ['src/console', 'src/daemon/contract', 'src/nfc', 'src/nfc/pcsc', 'src/nfc/emulator'],
  'src/nfc/ntag424': ['src/nfc'],
  'src/nfc/halo': ['src/nfc'],
  'src/nfc/pcsc': ['src/nfc'],
  'src/nfc/emulator': ['src/nfc', 'src/nfc/ntag424'],
  'src/nfc': ['src/nfc/ntag424', 'src/nfc/halo', 'src/nfc/pcsc', 'src/nfc/emulator'],
  'src/daemon/contract': ['src/nfc'],
  'src/daemon/http': ['src/daemon/contract', 'src/daemon/domain', 'src/daemon/process'],
  'src/daemon/routes': [
    'src/daemon/contract',
    'src/daemon/http',
    'src/daemon/domain',
    'src/daemon/pages',
    'src/daemon/process',
  ],
  'src/daemon/domain': [
    'src/daemon/store',
    'src/daemon/chain',
    'src/daemon/badges',
    'src/nfc',
    'src/nfc/ntag424',
    'src/nfc/halo',
  ],
  'src/daemon/store': [],
  'src/daemon/chain': ['src/daemon/store', 'src/daemon/outbound'],
  'src/daemon/badges': ['src/daemon/outbound'],
  'src/daemon/pages': ['src/daemon/domain', 'src/nfc'],
  'src/daemon/outbound': [],
  'src/daemon/marketplace': ['src/daemon/outbound'],
  'src/daemon/mail': [],
  'src/daemon/seed': [
    'src/nfc/halo',
    'src/daemon/contract',
    'src/daemon/domain',
    'src/daemon/http',
    'src/daemon/process',
  ],
}

/** What all rooms of `src/daemon/domain` are made of. */
const leaves = ['errors', 'time', 'audit', 'dry-run', 'webhooks']

/**
 * Rooms of `src/daemon/domain`, each with those that it may use. A room may use none that stands below it here, so
 * there are no cycles.
 */
const domainArrows: Record<string, readonly string[]> = {
  ...{ errors: [], time: [], audit: [], 'dry-run': [], webhooks: [] },
  chain: [],
  access: ['chain'],
  chips: ['access', 'chain'],
  codes: ['chips'],
  contracts: ['access', 'chain'],
  taps: ['access', 'chain', 'chips', 'codes'],
  reservations: ['chain', 'chips', 'codes', 'taps'],
  phygitals: ['chain', 'chips', 'codes', 'contracts', 'reservations'],
  deployments: ['access', 'chain', 'contracts', 'phygitals'],
  guestbook: ['access', 'chain', 'chips', 'codes', 'contracts', 'deployments'],
  'badge-events': ['chain', 'chips', 'codes', 'deployments', 'phygitals'],
  nfc: ['access', 'chips', 'taps'],
  'tap-page': [
    'access',
    'chain',
    'chips',
    'codes',
    'contracts',
    'phygitals',
    'guestbook',
    'badge-events',
    'taps',
    'reservations',
  ],
  batches: ['access', 'chain', 'chips', 'phygitals', 'guestbook', 'badge-events'],
  backup: ['taps'],
  operations: ['access', 'reservations', 'badge-events', 'batches', 'chain', 'chips', 'nfc', 'taps'],
}

/** Which room of the domain a file lives in. */
const domainRoomOf = (file: string): string | undefined => /^src\/daemon\/domain\/([^/]+)\//.exec(file)?.[1]

/** Files that every room may use, since they decide nothing. */
const open = new Set([
  'src/nfc/uid.ts',
  'src/daemon/outbound/foreign-text.ts',
  'src/daemon/process/version.ts',
])

interface Import {
  from: string
  to: string
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const targets = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map((match) => match[1] ?? '')
  return targets.map((target) => ({ from: file, to: relative(root, resolve(root, dirname(file), target)) }))
}

describe('the house', () => {
  const files = filesBelow('src')
  const imports = files.flatMap(importsOf)

  test('each room of the domain uses rooms above it alone', () => {
    const order = Object.keys(domainArrows)
    for (const [room, uses] of Object.entries(domainArrows))
      expect(uses.filter((other) => order.indexOf(other) >= order.indexOf(room))).toEqual([])
  })

  test('has files to look at', () => {
    expect(files.length).toBeGreaterThan(80)
    expect(imports.length).toBeGreaterThan(200)
  })

  test('imports go where they may', () => {
    const wrong = imports.filter(({ from, to }) => {
      const here = roomOf(from)
      const there = roomOf(to)
      if (
        here === undefined ||
        there === undefined ||
        here === there ||
        here === 'src/daemon/process' ||
        there === 'src/values' ||
        open.has(to)
      )
        return false
      return !mayImport[here].includes(there)
    })
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  test('what CLI and daemon share stands on nothing but itself and the UIDs', () => {
    const wrong = imports.filter(
      ({ from, to }) => roomOf(from) === 'src/values' && roomOf(to) !== 'src/values',
    )
    expect([...new Set(wrong.map(({ to }) => to))]).toEqual([])
  })

  test('so they do between the rooms of the domain', () => {
    const wrong = imports.filter(({ from, to }) => {
      const here = domainRoomOf(from)
      const there = domainRoomOf(to)
      if (here === undefined || there === undefined || here === there) return false
      return !leaves.includes(there) && !(domainArrows[here]?.includes(there) ?? false)
    })
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
    const folders = new Set(files.map(domainRoomOf).filter((room) => room !== undefined))
    expect([...folders].sort()).toEqual(Object.keys(domainArrows).sort())
  })

  test('nothing imports the CLI, and nothing but the composition root reads the environment', () => {
    expect(
      imports.filter(({ from, to }) => to.startsWith('src/cli/') && !from.startsWith('src/cli/')),
    ).toEqual([])
    const readers = files.filter(
      (file) => file.startsWith('src/daemon/') && /process\.env/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(readers).toEqual(['src/daemon/process/main.ts'])
  })

  test('only the entry points know argv, exit codes and process.exit', () => {
    const users = files.filter((file) =>
      /process\.(argv|exitCode|exit\b)/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(users.sort()).toEqual(['src/cli/main.ts', 'src/daemon/process/main.ts'])
  })

  test('no program is text inside of another', () => {
    const users = files.filter((file) =>
      /new Function\(|\beval\(|\beval: true|'-e'/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(users).toEqual([])
  })

  // The write that takes a tap is SQL that both engines read.
  test("an engine's own words stand in the store's folder for it, in that for taps, and in the migrations", () => {
    const own = /json_each|json_group_array|json_object|pragma|vacuum|advisory|for update|\bsql`/i
    const users = files.filter(
      (file) =>
        own.test(readFileSync(join(root, file), 'utf8')) &&
        !/store\/(sqlite|postgres|taps|migrations)\//.test(file),
    )
    expect(users).toEqual([])
  })

  test('nothing outside the store knows which database there is', () => {
    const outside = files.filter((file) => roomOf(file) !== 'src/daemon/store')
    expect(
      imports.filter(
        ({ from, to }) => outside.includes(from) && /store\/(.*\/)?[^/]*(sqlite|postgres)/.test(to),
      ),
    ).toEqual([])
    // Its driver, Kysely's dialects, its error codes, and what runs a query synchronously.
    const own = /better-sqlite3|from 'pg'|from 'kysely|SQLITE_|\bpragma\b|\b(last)?rowid\b|openSqlite/i
    expect(outside.filter((file) => own.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  test('what is written whole or not at all is written by one function', () => {
    const users = files.filter((file) => /\brename(Sync)?\(/.test(readFileSync(join(root, file), 'utf8')))
    expect(users.sort()).toEqual([
      // A stream of any length.
      'src/cli/commands/chips/export.ts',
      // A folder.
      'src/daemon/domain/backup/backup.ts',
      // Many files, by a plan that is written whole.
      'src/daemon/store/backup/restore-dir.ts',
      'src/values/files.ts',
    ])
  })

  test("the embedded chain's id stands in one place", () => {
    const users = files.filter((file) => /[=:(,]\s*'?31337\b/.test(readFileSync(join(root, file), 'utf8')))
    expect(users).toEqual(['src/daemon/chain/dev-chain/dev-keys.ts'])
  })

  test("a team's transactions are recorded in one place, which counts them against its budget", () => {
    const users = files.filter((file) => /\brecordIntent\(/.test(readFileSync(join(root, file), 'utf8')))
    expect(users.sort()).toEqual([
      'src/daemon/chain/relayer/record-intent.ts',
      'src/daemon/domain/chain/budget.ts',
      // Once a chain, and nobody's.
      'src/daemon/domain/deployments/guestbook-records.ts',
    ])
  })

  test('rooms have names: no utils, helpers, common, shared or misc', () => {
    expect(files.filter((file) => /(^|\/)(utils?|helpers?|common|shared|misc)(\/|\.ts$)/.test(file))).toEqual(
      [],
    )
  })

  test("a file's place is taken from its URL by fileURLToPath: the path in a URL has %20 for a space", () => {
    const all = ['bench', 'bin', 'build', 'contracts', 'demo', 'scripts', 'src', 'tests'].flatMap((folder) =>
      filesBelow(folder, /\.(ts|mjs|cjs|js)$/),
    )
    expect(all).toContain('build/build.mjs')
    const wrong = /import\.meta\.url\s*\)\s*\.(pathname|href)|import\.meta\.url\.(slice|replace)|`file:\/\//
    expect(all.filter((file) => wrong.test(readFileSync(join(root, file), 'utf8')))).toEqual([])
  })

  test('the test files that a configuration of vitest names exist', () => {
    const named = readdirSync(root)
      .filter((file) => /^vitest.*\.config\.ts$/.test(file))
      .flatMap((file) => readFileSync(join(root, file), 'utf8').match(/tests\/[\w/{},-]+\.test\.ts/g) ?? [])
      .flatMap((path) => {
        const [all = '', choices] = /\{([^}]+)\}/.exec(path) ?? []
        return choices?.split(',').map((choice) => path.replace(all, choice)) ?? [path]
      })
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('files stay short enough to read', () => {
    const lines = (file: string) => readFileSync(join(root, file), 'utf8').split('\n').length
    // The texts of the tap page are a list: one file a language.
    const read = files.filter((file) => !/pages\/tap\/strings\/[a-z]{2}\.ts$/.test(file))
    expect(read.filter((file) => lines(file) > 260).map((file) => `${file}: ${lines(file)}`)).toEqual([])
  })
})
