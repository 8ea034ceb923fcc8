import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { NoReader } from '../../src/nfc/card.ts'
import { readerErrors, readerWords } from '../../src/nfc/pcsc/unavailable.ts'
import { type CliHome, cliHome } from '../support/cli.ts'

let here: CliHome
beforeEach(() => {
  here = cliHome()
  here.env.PCSCLITE_CSOCK_NAME = join(here.home, 'pcscd.comm')
})
afterEach(() => here.remove())

const ofLinux = /pcscd|systemctl|apt-get|libpcsclite|modprobe|polkit/

describe.each(['darwin', 'win32'] as const)('on %s', (platform) => {
  const own = platform === 'darwin' ? /macOS|Apple/ : /Windows|SCardSvr/

  test('every message about readers speaks of that system', () => {
    const { plugIn } = readerWords(platform)
    const errors = readerErrors(platform)
    const all = [
      errors.notRunning(),
      errors.stopped(),
      errors.connectionRefused(),
      errors.notResponding('it took too long'),
      errors.hostFailed('SIGSEGV'),
      errors.hostFailed('NoService'),
      errors.hostFailed('SCardEstablishContext error: Service not available.(0x8010001d)'),
    ]
    for (const { message, advice } of all) {
      expect(`${message}. ${advice}`).not.toMatch(ofLinux)
      expect(`${message}. ${advice}`).toMatch(own)
    }
    for (const { message, advice } of [
      errors.noBackend('x'),
      errors.closed(),
      new NoReader(undefined, [], plugIn),
    ])
      expect(`${message}. ${advice}`).not.toMatch(ofLinux)
    expect(errors.noBackend('x').advice).toContain(
      `@pcsc-mini/${platform === 'darwin' ? 'macos' : 'windows'}-`,
    )
    expect(errors.hostFailed('NoService')).toMatchObject(errors.notRunning('NoService'))
    expect(plugIn).toContain('driver from')
  })

  test('commands and doctor have these words', async () => {
    here.platform = platform
    const ran = await Promise.all(
      [['readers'], ['read'], ['watch'], ['verify'], ['selftest', '--output', 'x']].map((args) =>
        here.run('nfc', ...args),
      ),
    )
    for (const { code, stderr } of ran) {
      expect(code).toBe(6)
      expect(stderr).toMatch(own)
      expect(stderr).not.toMatch(ofLinux)
    }
    const findings = (await here.run('doctor', '--json', '--url', 'http://127.0.0.1:1')).json() as {
      check: string
      detail: string
      fix: string
    }[]
    const finding = findings.find(({ check }) => check === 'readers')
    expect(`${finding?.detail} ${finding?.fix}`).toMatch(own)
    expect(`${finding?.detail} ${finding?.fix}`).not.toMatch(ofLinux)
  })
})
