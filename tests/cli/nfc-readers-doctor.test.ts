import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readersOfKernel } from '../../src/cli/commands/doctor/readers.ts'
import { type CliHome, cliHome } from '../support/cli.ts'

let here: CliHome
beforeEach(() => {
  here = cliHome()
})
afterEach(() => here.remove())

const readersFinding = async () => {
  const ran = await here.run('doctor', '--json', '--url', 'http://127.0.0.1:1')
  const findings = ran.json() as { check: string; status: string; detail: string; fix: string | null }[]
  return findings.find(({ check }) => check === 'readers')
}

test('without pcscd doctor says how to get it, and that is no failure', async () => {
  here.env.PCSCLITE_CSOCK_NAME = join(here.home, 'pcscd.comm')
  expect(await readersFinding()).toEqual({
    check: 'readers',
    status: 'warn',
    detail: 'pcscd, the service for card readers, is not running; nfc commands need it',
    fix: expect.stringContaining('start it: systemctl start pcscd.socket'),
  })
})

test('a driver of the kernel that holds a reader is named', () => {
  const devices = mkdtempSync(join(tmpdir(), 'tapchip-usb-'))
  for (const [device, driver] of [
    ['1-1', 'usb'],
    ['1-1:1.0', 'pn533_usb'],
    ['1-2:1.0', 'usbhid'],
  ] as const) {
    mkdirSync(join(devices, device))
    symlinkSync(join('../../drivers', driver), join(devices, device, 'driver'))
  }
  mkdirSync(join(devices, '1-3:1.0'))
  expect(readersOfKernel(devices)).toEqual(['pn533_usb'])
  expect(readersOfKernel(join(devices, 'none'))).toEqual([])
  rmSync(devices, { recursive: true })
})
