// One package of Debian's that tests need: installed where that is allowed (root, on Debian and its kin); elsewhere it
// is said what to install, and the tests run without those that need it.
import { attempt, found, mayLeaveOut } from './test-tools.mjs'

/** Says why tests cannot run and what to do. It ends the whole run only where no test may be left out. */
export function cannotRun(whatFor, what, advice) {
  console.error(`${whatFor} cannot run: ${what}.\n${advice}`)
  if (mayLeaveOut()) console.error('The other tests run.\n')
  process.exit(mayLeaveOut() ? 0 : 1)
}

const quiet = { DEBIAN_FRONTEND: 'noninteractive' }

/** @returns what apt-get said where it failed */
export function aptInstall(install) {
  const [apt, ...args] = install
  // A fresh machine has no list of packages, an old one has an old list.
  if (attempt(apt, args, quiet) === undefined) return undefined
  attempt(apt, ['update'], quiet)
  return attempt(apt, args, quiet)
}

/**
 * @param whatFor the tests that need it @param chosen the variable that names another one, if there is one, and what it
 * says
 * @param works whether it is there and can be used
 */
export function installPackage(name, { whatFor, chosen: [variable, chosen] = [], works }) {
  const fail = (what, advice) => cannotRun(whatFor, what, advice)
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', name]
  const elsewhere = variable === undefined ? '' : `\n\nElsewhere set ${variable} to one of your own.`
  const byHand = `As root, on Debian:\n\n  ${install.join(' ')}${elsewhere}`
  if (works()) return
  if (chosen) fail(`${variable} is ${chosen}, which does not work`, byHand)
  if (process.platform !== 'linux' || !found('apt-get'))
    fail(`there is no ${name}, and this is no Debian`, byHand)
  if (process.getuid() !== 0) fail(`there is no ${name}, and only root may install it`, byHand)
  console.log(`Installing ${name}. ${whatFor} need it`)
  const problem = aptInstall(install)
  if (problem !== undefined) fail('apt-get failed', `${problem}\n${byHand}`)
  if (!works()) fail(`${name} was installed, but does not work`, byHand)
}
