// Sees to it that the tests of card readers can run: a pcscd with virtual readers, and both libraries that talk to it.
// Installs what is missing where it may (root, on Debian and its kin); elsewhere it says what to install, and fails.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
const succeeds = (command, ...args) => spawnSync(command, args, { stdio: 'ignore', env }).status === 0
const found = (program) => succeeds('sh', '-c', `command -v ${program}`)

/** Debian's packages, and how to tell that one is there already. */
const packages = {
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
const missingPackages = () => Object.keys(packages).filter((name) => !packages[name]())

const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const nfcPcsc = `nfc-pcsc@${optionalDependencies['nfc-pcsc']}`
const architecture = { x64: 'x86_64', arm64: 'aarch64' }[process.arch] ?? process.arch
const pcscMini = `@pcsc-mini/linux-${architecture}-gnu`
const pcscMiniVersion = optionalDependencies['@pcsc-mini/linux-x86_64-gnu']

/** In a process of its own: native code that is replaced under one that has it loaded ends that one. */
const loads = (name) => succeeds(process.execPath, '-e', `require(${JSON.stringify(name)})`)

function fail(what, advice) {
  console.error(`The tests of card readers cannot run: ${what}.\n${advice}`)
  process.exit(1)
}

/** Runs a command, and shows what it said only where it failed. */
function attempt(command, args, extra = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...env, ...extra },
  })
  return status === 0 ? undefined : `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
}

function installPackages() {
  const missing = missingPackages()
  if (missing.length === 0) return
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing]
  const byHand = `As root, on Debian:\n\n  ${install.join(' ')}\n`
  if (process.platform !== 'linux' || !found('apt-get'))
    fail(`${missing.join(', ')} are not here, and this is no Debian`, byHand)
  if (process.getuid() !== 0)
    fail(`${missing.join(', ')} are not here, and only root may install them`, byHand)

  console.log(`Installing what the tests of card readers need: ${missing.join(', ')}`)
  const quiet = { DEBIAN_FRONTEND: 'noninteractive' }
  const [apt, ...args] = install
  // A fresh machine has no list of packages, an old one has an old list.
  if (attempt(apt, args, quiet) !== undefined) {
    attempt(apt, ['update'], quiet)
    const problem = attempt(apt, args, quiet)
    if (problem !== undefined) fail('apt-get failed', `${problem}\n${byHand}`)
  }
  const still = missingPackages()
  if (still.length > 0) fail(`${still.join(', ')} were installed, but cannot be found`, byHand)
}

/** npm drops an optional package that could not be built, and does not try again when it could be. */
function buildLibraries() {
  const npm = (...args) => attempt('npm', args)
  if (!loads('nfc-pcsc')) {
    console.log('Building nfc-pcsc')
    const installed = existsSync('node_modules/nfc-pcsc') && existsSync('node_modules/@pokusew/pcsclite')
    const problem = installed ? npm('rebuild', '@pokusew/pcsclite') : npm('install', '--no-save', nfcPcsc)
    if (problem !== undefined || !loads('nfc-pcsc'))
      fail('nfc-pcsc could not be built', `${problem ?? ''}\n  npm install --no-save ${nfcPcsc}\n`)
  }
  if (!loads(pcscMini)) {
    const problem = npm('install', '--no-save', `${pcscMini}@${pcscMiniVersion}`)
    if (problem !== undefined || !loads(pcscMini))
      fail(
        `${pcscMini} is not installed`,
        `${problem ?? ''}\n  npm install --no-save ${pcscMini}@${pcscMiniVersion}\n`,
      )
  }
}

function checkNamespaces() {
  const user = process.getuid() === 0 ? [] : ['--user', '--map-root-user']
  const problem = attempt('unshare', [...user, '--mount', '--net', '--pid', '--fork', 'true'])
  if (problem !== undefined)
    fail(
      'they need namespaces of their own, which are not allowed here',
      `${problem}\nRun them as root (in a container: with CAP_SYS_ADMIN), or allow user namespaces.`,
    )
}

installPackages()
buildLibraries()
checkNamespaces()
