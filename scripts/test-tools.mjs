// What some tests need and not every machine has. Where it is missing, those tests are left out and the rest runs,
// unless TAPCHIP_TEST_ALL=1 says, as in CI, that none may be.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { createRequire } from 'node:module'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
const run = (command, ...args) => spawnSync(command, args, { encoding: 'utf8', env })
export const succeeds = (command, ...args) => run(command, ...args).status === 0
export const found = (program) => succeeds('sh', '-c', `command -v ${program}`)

/** Runs a command, and gives what it said where it failed. */
export function attempt(command, args, extra = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...env, ...extra },
  })
  return status === 0 ? undefined : `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim()
}

/** Debian's packages for the tests of card readers, and how to tell that one is there already. */
const readerPackages = {
  pcscd: () => found('pcscd'),
  'vsmartcard-vpcd': () => existsSync('/usr/lib/pcsc/drivers/serial/libifdvpcd.so'),
  'libpcsclite-dev': () => existsSync('/usr/include/PCSC/winscard.h'),
  'pkg-config': () => found('pkg-config'),
  'g++': () => found('g++'),
  make: () => found('make'),
  python3: () => found('python3'),
  iproute2: () => found('ip'),
  'util-linux': () => found('unshare'),
}
export const missingReaderPackages = () =>
  Object.keys(readerPackages).filter((name) => !readerPackages[name]())

/** In a process of its own: native code that is replaced under one that has it loaded ends that one. */
export const loads = (name) => succeeds(process.execPath, '-e', `require(${JSON.stringify(name)})`)

const isInstalled = (name) => {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}
const architecture = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] ?? process.arch
export const pcscMini = `@pcsc-mini/linux-${architecture}-gnu`

/** What keeps this user from having namespaces of their own. */
export const namespaceProblem = () => {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']
  return attempt('unshare', [...user, '--mount', '--net', '--pid', '--fork', 'true'])
}

function readerProblem() {
  const missing = missingReaderPackages()
  if (missing.length > 0) return `${missing.join(', ')} not installed`
  const libraries = ['nfc-pcsc', pcscMini].filter((name) => !isInstalled(name))
  if (libraries.length > 0) return `${libraries.join(', ')} not installed`
  if (namespaceProblem() !== undefined)
    return 'this user may have no namespaces. Run as root, or allow user namespaces'
  return undefined
}

/** Where tests/support/browser.ts looks. */
const browsers = process.env.TAPCHIP_TEST_BROWSER
  ? [process.env.TAPCHIP_TEST_BROWSER]
  : ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Where tests/support/fake-time.ts looks. */
const fakeTimes = process.env.TAPCHIP_TEST_FAKETIME
  ? [process.env.TAPCHIP_TEST_FAKETIME]
  : ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)

const debianPostgres = '/usr/lib/postgresql'
/** The folder of the newest server's programs; undefined if there is none of version 15 or later. */
export function postgresBin() {
  if (process.env.TAPCHIP_TEST_POSTGRES_BIN) return process.env.TAPCHIP_TEST_POSTGRES_BIN
  const versions = existsSync(debianPostgres) ? readdirSync(debianPostgres).map(Number) : []
  const newest = Math.max(0, ...versions.filter((version) => version >= 15))
  return newest === 0 ? undefined : `${debianPostgres}/${newest}/bin`
}
export const hasPostgres = () =>
  postgresBin() !== undefined && succeeds(`${postgresBin()}/postgres`, '--version')

/** Ubuntu's chromium is a script that asks for a snap, so that it is there says nothing. */
export function hasBrowser() {
  const first = browsers.find((path) => existsSync(path))
  return first !== undefined && succeeds(first, '--version')
}
/** Its programs; nothing has to run. */
export const hasSystemd = () => ['systemctl', 'systemd-analyze', 'systemd-notify', 'journalctl'].every(found)
/** Where tests/support/mail-server.ts looks. */
export const eximPath = [process.env.TAPCHIP_TEST_EXIM ?? '/usr/sbin/exim4'].find((path) => existsSync(path))
export const hasMailServer = () => eximPath !== undefined
export const hasFakeTime = () => fakeTimes.some((path) => existsSync(path))

const apt = (...names) => `On Debian, as root: apt-get install ${names.join(' ')}`
export const tools = [
  {
    what: 'card readers',
    tests: [
      'tests/pcsc/**',
      'tests/cli/nfc-pcscd.test.ts',
      'tests/cli/nfc-field.test.ts',
      'tests/long/nfc-beside.test.ts',
      'tests/long/nfc-box-kills.test.ts',
    ],
    problem: readerProblem,
    advice: `${apt(...Object.keys(readerPackages))}, then: node scripts/install-pcsc.mjs`,
  },
  {
    what: 'mounts that only a test sees',
    tests: ['tests/e2e/chain-network.test.ts'],
    problem: () => (namespaceProblem() === undefined ? undefined : 'this user may have no namespaces'),
    advice: 'Run as root, or allow user namespaces',
  },
  {
    what: 'a browser',
    tests: [
      'tests/client/client.test.ts',
      'tests/e2e/claim-page.test.ts',
      'tests/e2e/console-batches.test.ts',
      'tests/e2e/console-daemon.test.ts',
      'tests/e2e/console-events.test.ts',
      'tests/e2e/console-look.test.ts',
      'tests/e2e/console-screens.test.ts',
      'tests/e2e/console-stream.test.ts',
      'tests/e2e/console-tabs.test.ts',
      'tests/e2e/console.test.ts',
      'tests/e2e/docs-page.test.ts',
      'tests/e2e/foreign-page.test.ts',
      'tests/e2e/public-page.test.ts',
      'tests/e2e/tap-page-finger.test.ts',
      'tests/e2e/tap-page-look.test.ts',
      'tests/e2e/tap-page-moment.test.ts',
      'tests/e2e/tap-page-reserve.test.ts',
      'tests/e2e/tap-page-still.test.ts',
      'tests/e2e/tap-page.test.ts',
      'tests/fleet/live-events.test.ts',
      'tests/long/pictures.test.ts',
      'tests/long/tap-page-finger.test.ts',
      'tests/long/tap-page-first-screen.test.ts',
      'tests/long/tap-page-states.test.ts',
      'tests/long/tap-page-still.test.ts',
      'tests/long/tap-page-times.test.ts',
      'tests/long/tap-page-yours.test.ts',
      'tests/long/tap-page.test.ts',
    ],
    problem: () => (hasBrowser() ? undefined : `${browsers.join(', ')} not there, or not working`),
    advice: `${apt('chromium')}. Elsewhere: TAPCHIP_TEST_BROWSER=PATH`,
  },
  {
    what: 'PostgreSQL',
    tests: ['tests/fleet/**', 'tests/long/ledger.test.ts'],
    problem: () => (hasPostgres() ? undefined : 'PostgreSQL 15 or later not installed'),
    advice: `${apt('postgresql')}. Elsewhere: TAPCHIP_TEST_POSTGRES_BIN=FOLDER`,
  },
  {
    what: 'systemd',
    tests: ['tests/cli/daemon-install.test.ts', 'tests/e2e/service-manager.test.ts'],
    problem: () => (hasSystemd() && found('python3') ? undefined : 'systemd or python3 not installed'),
    advice: apt('systemd', 'python3'),
  },
  {
    what: 'a clock that jumps',
    tests: ['tests/long/clock.test.ts'],
    problem: () => (hasFakeTime() ? undefined : 'libfaketime not installed'),
    advice: `${apt('libfaketime')}. Elsewhere: TAPCHIP_TEST_FAKETIME=PATH`,
  },
  {
    what: 'a mail server',
    tests: [
      'tests/daemon/reservations-badges.test.ts',
      'tests/daemon/reservations-ends.test.ts',
      'tests/daemon/reservations.test.ts',
      'tests/fleet/reservations.test.ts',
      'tests/long/reservations-crash.test.ts',
    ],
    problem: () => (hasMailServer() ? undefined : 'exim4 not installed'),
    advice: `${apt('exim4-daemon-light')}. Elsewhere: TAPCHIP_TEST_EXIM=PATH`,
  },
  {
    what: 'a terminal',
    tests: [
      'tests/cli/badge-events.test.ts',
      'tests/cli/nfc-one-chip.test.ts',
      'tests/cli/prompts.test.ts',
      'tests/cli/protected-context.test.ts',
    ],
    // The `script` of macOS and of the BSDs takes other arguments.
    problem: () => (succeeds('script', '--version') ? undefined : '`script` of util-linux not installed'),
    advice: apt('bsdutils'),
  },
]

export const mayLeaveOut = () => !process.env.TAPCHIP_TEST_ALL

/** What is missing here, with the tests that are left out because of it. @param suite the tests that are to run */
export function missingTools(suite) {
  if (!mayLeaveOut()) return []
  const isLong = (file) => file.startsWith('tests/long/')
  return tools
    .filter(({ tests }) => tests.some((file) => isLong(file) === (suite === 'long')))
    .flatMap(({ problem, ...tool }) => {
      const why = problem()
      return why === undefined ? [] : [{ ...tool, why }]
    })
}

/** Said after the tests, so that nobody takes a part for the whole. */
export const describeMissing = (missing) =>
  `Not run on this machine:\n${missing
    .map(
      ({ what, tests, why, advice }) => `  tests with ${what} (${tests.join(', ')})\n    ${why}. ${advice}`,
    )
    .join('\n')}\nTAPCHIP_TEST_ALL=1 makes that a failure.`
