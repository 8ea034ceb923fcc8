// The main job from end to end, on a daemon that is gone afterwards: chips are edited, one is tapped, and a
// third-party app learns whether the tap is real and gets its code.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cli, get, startDaemon } from './processes.mjs'
import { say, shorten, step, title } from './words.mjs'

const chip = '04:DE:5F:1E:AC:C0:40'
const walkChip = '04:98:93:CA:AA:11:90'
/** Whom `bram.eth` stands for in fixtures/demo.json. */
const bram = '0x2e6D1F0A9B8c7D5E4F3a2B1c0D9e8f7A6B5C4d3e'
const apiKey = 'svc_demo_only_0000000000000000'

const state = mkdtempSync(join(tmpdir(), 'tapchip-demo-'))
const daemon = await startDaemon([
  '--ephemeral',
  '--port',
  '0',
  '--seed',
  'fixtures/demo.json',
  '--log-level',
  'warn',
]).catch((error) => {
  // The daemon has said why.
  console.error(`The demo cannot run. ${error.message}.`)
  process.exit(1)
})
const env = {
  TAPCHIP_URL: daemon.url,
  TAPCHIP_API_KEY: apiKey,
  TAPCHIP_ADMIN_TOKEN: readFileSync(join(daemon.dataDir, 'admin.token'), 'utf8').trim(),
  XDG_STATE_HOME: state,
}
const tapchip = (...args) => cli(args, env)

try {
  title('Tapchip in one minute')
  say(`A daemon runs at ${daemon.url} with the chips of fixtures/demo.json. It is gone when this ends.`)

  step(
    'A blank chip is set up: keys of its own, its URL, its locks. (The reader and the chip are virtual here)',
  )
  await tapchip(
    'nfc',
    'provision',
    '--key-set',
    '101',
    '--chip-group',
    'Jackets 2026',
    '--reader',
    'emulator',
  )

  step('It is read, as a phone would read it, and the daemon says whether that tap is real')
  const read = JSON.parse(await tapchip('nfc', 'verify', '--reader', 'emulator', '--json'))
  expect(read.isValidTap === true, 'the chip that was just set up is genuine')

  step('An operator gives the chips of a box new addresses: first as a dry run, then for good')
  await tapchip('chips', 'edit', '--file', 'fixtures/demo-edit.csv', '--dry-run')
  await tapchip('chips', 'edit', '--file', 'fixtures/demo-edit.csv')

  step('A person taps the chip in a jacket. The phone gets a URL that the chip has signed for this tap alone')
  const first = JSON.parse(await tapchip('taps', 'simulate', '--uid', chip, '--json'))
  say('e holds the chip and its tap count, encrypted; c is the signature over d and e.')

  step('Is the tap real and fresh? The daemon verifies it, takes it, and gives a single-use code')
  const found = JSON.parse(await tapchip('chips', 'find', first.url, '--json'))
  expect(found.isValidTap === true, 'a fresh tap is valid')

  step('Somebody copies the link and opens it again: refused, and no code')
  const replayed = JSON.parse(await tapchip('chips', 'find', first.url, '--json'))
  expect(replayed.isValidTap === false && replayed.otp === undefined, 'a replayed tap is refused')

  step('The next tap, opened on a phone: it is sent to the app that the operator chose, with a ref')
  const second = JSON.parse(await tapchip('taps', 'simulate', '--uid', chip, '--json'))
  const opened = await get(second.url)
  say(`GET ${shorten(second.url)}\n  → ${opened.status} ${opened.location}`)
  const ref = new URL(opened.location).searchParams.get('svcRef') ?? ''

  step('The app asks about the ref. The first answer carries the code that lets this person claim the token')
  const asked = JSON.parse(await tapchip('refs', 'show', ref, '--include-owner', '--json'))
  expect(asked.isValidRef === true, 'the first query of a ref is valid')

  step('What is that code worth, and until when?')
  const otp = JSON.parse(await tapchip('otps', 'show', asked.linkedToken.otp, '--json'))
  expect(otp.isExpired === false && otp.type === 'PHYGITAL_CLAIM', 'the code is good')

  step(
    'The ref was for one query: whoever asks again gets no code. And the link of the tap is used up as well',
  )
  const again = JSON.parse(await tapchip('refs', 'show', ref, '--json'))
  expect(again.isValidRef === false, 'a second query of a ref is not valid')
  const reopened = await get(second.url)
  say(`GET ${shorten(second.url)}\n  → ${reopened.status} "${reopened.heading}"`)
  expect(reopened.status === 410, 'a used link is gone')

  step('This contract asks for two taps. The code of the first says who is to have the token')
  await tapchip('phygitals', 'claim-registration', 'create', '--code', otp.otp, '--recipient', 'bram.eth')

  step('The code of a second tap moves it: a transaction on the chain that runs inside the daemon')
  const third = JSON.parse(await tapchip('taps', 'simulate', '--uid', chip, '--json'))
  const last = JSON.parse(await tapchip('chips', 'find', third.url, '--json'))
  await tapchip('phygitals', 'transfer', '--code', last.otp.code, '--recipient', 'bram.eth')
  await tapchip('transactions', 'list', '--kind', 'phygital-transfer')

  step('Whoever taps the jacket from now on sees whose it is')
  const fourth = JSON.parse(await tapchip('taps', 'simulate', '--uid', chip, '--json'))
  const shown = new URL((await get(fourth.url)).location).searchParams.get('svcRef') ?? ''
  const owned = JSON.parse(await tapchip('refs', 'show', shown, '--include-owner', '--json'))
  expect(owned.linkedToken.ownerAddress === bram, 'the token is with bram.eth')

  step('Another chip carries a badge, for those who were there: the code of its tap mints one')
  const walk = JSON.parse(await tapchip('taps', 'simulate', '--uid', walkChip, '--json'))
  const badge = JSON.parse(await tapchip('chips', 'find', walk.url, '--json'))
  await tapchip(
    'badge-events',
    'mint',
    String(badge.badgeEvent.id),
    '--code',
    badge.otp.code,
    '--recipient',
    'alice.eth',
  )

  step('All of it is on record, the refused taps with their reason')
  await tapchip('taps', 'list')

  title('Done: 1 chip set up, 3 changed, 2 replays and a second query refused, 1 token moved, 1 badge minted')
  say('Next: README.md has a tour of five minutes on a daemon of your own.')
} finally {
  await daemon.stop()
  rmSync(state, { recursive: true, force: true })
}

function expect(isSo, what) {
  if (!isSo) throw new Error(`The demo did not go as it should: expected that ${what}`)
}
