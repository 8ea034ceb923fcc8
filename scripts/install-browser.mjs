// Sees to it that the tests that open pages in a real browser can run. Installs chromium where it may (root, on Debian
// and its kin); elsewhere it says what to install, and fails.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }
const succeeds = (command, ...args) => spawnSync(command, args, { stdio: 'ignore', env }).status === 0
const found = (program) => succeeds('sh', '-c', `command -v ${program}`)

/** Where tests/support/browser.ts looks. */
const chosen = process.env.TAPCHIP_TEST_BROWSER
const places = chosen
  ? [chosen]
  : ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Ubuntu's is a script that asks for a snap, so that it is there says nothing. */
const works = () => {
  const first = places.find((path) => existsSync(path))
  return first !== undefined && succeeds(first, '--version')
}

function fail(what, advice) {
  console.error(`The tests that open pages in a browser cannot run: ${what}.\n${advice}`)
  process.exit(1)
}

const install = ['apt-get', 'install', '-y', '--no-install-recommends', 'chromium']
const byHand = `As root, on Debian:\n\n  ${install.join(' ')}\n\nElsewhere set TAPCHIP_TEST_BROWSER to a browser like it.`

/** Runs a command, and gives what it said where it failed. */
function attempt([command, ...args]) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  return status === 0 ? undefined : `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`
}

if (!works()) {
  if (chosen) fail(`TAPCHIP_TEST_BROWSER is ${chosen}, which does not run`, byHand)
  if (process.platform !== 'linux' || !found('apt-get'))
    fail('there is no chromium, and this is no Debian', byHand)
  if (process.getuid() !== 0) fail('there is no chromium, and only root may install it', byHand)
  console.log('Installing what the tests of pages need: chromium')
  // A fresh machine has no list of packages, an old one has an old list.
  if (attempt(install) !== undefined) {
    attempt(['apt-get', 'update'])
    const problem = attempt(install)
    if (problem !== undefined) fail('apt-get failed', `${problem}\n${byHand}`)
  }
  if (!works()) fail('chromium was installed, but does not run', byHand)
}
