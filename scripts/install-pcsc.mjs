// Sees to it that the tests of card readers can run: a pcscd with virtual readers, and both libraries that talk to it.
// Installs what is missing where it may (root, on Debian and its kin); elsewhere it says what to install.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { aptInstall, cannotRun } from './install-package.mjs'
import { attempt, found, loads, missingReaderPackages, namespaceProblem, pcscMini } from './test-tools.mjs'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
const nfcPcsc = `nfc-pcsc@${optionalDependencies['nfc-pcsc']}`
const pcscMiniVersion = optionalDependencies['@pcsc-mini/linux-x86_64-gnu']

const fail = (what, advice) => cannotRun('The tests of card readers', what, advice)

function installPackages() {
  const missing = missingReaderPackages()
  if (missing.length === 0) return
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing]
  const byHand = `As root, on Debian:\n\n  ${install.join(' ')}\n`
  if (process.platform !== 'linux' || !found('apt-get'))
    fail(`${missing.join(', ')} are not here, and this is no Debian`, byHand)
  if (process.getuid() !== 0)
    fail(`${missing.join(', ')} are not here, and only root may install them`, byHand)

  console.log(`Installing what the tests of card readers need: ${missing.join(', ')}`)
  const problem = aptInstall(install)
  if (problem !== undefined) fail('apt-get failed', `${problem}\n${byHand}`)
  const still = missingReaderPackages()
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
  const problem = namespaceProblem()
  if (problem !== undefined)
    fail(
      'they need namespaces of their own, which are not allowed here',
      `${problem}\nRun them as root (in a container: with CAP_SYS_ADMIN), or allow user namespaces.`,
    )
}

installPackages()
buildLibraries()
checkNamespaces()
