// One package of Debian's that tests need: installed where that is allowed (root, on Debian and its kin); elsewhere it
// is said what to install, and the tests are not begun.
import { spawnSync } from 'node:child_process'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
export const succeeds = (command, ...args) => spawnSync(command, args, { stdio: 'ignore', env }).status === 0
const found = (program) => succeeds('sh', '-c', `command -v ${program}`)

/** Runs a command, and gives what it said where it failed. */
function attempt([command, ...args]) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  return status === 0 ? undefined : `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
}

/**
 * @param whatFor the tests that need it @param chosen the variable that names another one, and what it says
 * @param works whether it is there and can be used
 */
export function installPackage(name, { whatFor, chosen: [variable, chosen], works }) {
  const fail = (what, advice) => {
    console.error(`${whatFor} cannot run: ${what}.\n${advice}`)
    process.exit(1)
  }
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', name]
  const byHand = `As root, on Debian:\n\n  ${install.join(' ')}\n\nElsewhere set ${variable} to one of your own.`
  if (works()) return
  if (chosen) fail(`${variable} is ${chosen}, which does not work`, byHand)
  if (process.platform !== 'linux' || !found('apt-get'))
    fail(`there is no ${name}, and this is no Debian`, byHand)
  if (process.getuid() !== 0) fail(`there is no ${name}, and only root may install it`, byHand)
  console.log(`Installing ${name}. ${whatFor} need it`)
  // A fresh machine has no list of packages, an old one has an old list.
  if (attempt(install) !== undefined) {
    attempt(['apt-get', 'update'])
    const problem = attempt(install)
    if (problem !== undefined) fail('apt-get failed', `${problem}\n${byHand}`)
  }
  if (!works()) fail(`${name} was installed, but does not work`, byHand)
}
