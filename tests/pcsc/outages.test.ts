import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, type TestContext, test } from 'vitest'
import { ReaderUnavailable } from '../../src/nfc/card.ts'
import { backendNames } from '../../src/nfc/pcsc/protocol.ts'
import { PcscReaders } from '../../src/nfc/pcsc/readers.ts'
import { follow, gone, hostScript, openPcscd, openReaders } from '../support/pcsc/opened.ts'

const ok = Uint8Array.of(0x90, 0x00)
const select = Uint8Array.of(0x00, 0xa4, 0x04, 0x00, 0x00)
const numbered = (number: number) => ({ transmit: () => Uint8Array.of(number, ...ok) })
/** For what hangs: no test waits longer for it than it must. */
const impatient = { start: 8_000, command: 500, ping: 1_000 }

// One after another, and before all others: this process's own work is measured.
describe.each(backendNames)('with %s', (backend) => {
  test('without pcscd there is advice in less than two seconds, and nothing spins', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tapchip-no-pcscd-'))
    t.onTestFinished(() => rmSync(folder, { recursive: true }))
    const readers = openReaders(t, { backend, env: { PCSCLITE_CSOCK_NAME: join(folder, 'pcscd.comm') } })
    const begun = performance.now()
    const before = process.cpuUsage()
    for (const call of [readers.list(), readers.waitForCard(), follow(t, readers).next('card')]) {
      await expect(call).rejects.toThrow(ReaderUnavailable)
      await expect(call).rejects.toThrow('is not running')
      await expect(call).rejects.toMatchObject({ advice: expect.stringContaining('systemctl start pcscd') })
    }
    expect(performance.now() - begun).toBeLessThan(2_000)
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1_000).toBeLessThan(1_000)
  })

  test('nothing spins while pcscd is away', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env, retryMs: 100 })
    const events = follow(t, readers)
    await events.next('reader-added')
    await pcscd.kill()
    await events.next('unavailable')
    // Time passes: that is what is measured. A thread that spins does so in each of the spans; what a busy machine
    // adds, and code that is compiled late, does not.
    let least = Number.POSITIVE_INFINITY
    for (let span = 0; span < 10 && least >= 150; span++) {
      const before = process.cpuUsage()
      await new Promise((done) => setTimeout(done, 500))
      const { user, system } = process.cpuUsage(before)
      least = Math.min(least, (user + system) / 1_000)
    }
    expect(least).toBeLessThan(150)
  })
})

describe.concurrent.each(backendNames)('with %s', (backend) => {
  test('pcscd killed and started again while somebody watches: taps go on', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const events = follow(t, readers)
    const before = await pcscd.present(0, numbered(1))
    const { card } = await events.next('card')
    expect(await card.transmit(select)).toEqual(Uint8Array.of(1, ...ok))
    const { pid } = await readers.host()

    await pcscd.kill()
    expect((await events.next('card-removed')).reader).toBe(pcscd.readers[0])
    expect((await events.next('reader-removed')).reader).toBe(pcscd.readers[0])
    expect((await events.next('unavailable')).error).toBeInstanceOf(ReaderUnavailable)
    await card.removed()
    await gone(pid)
    await before.removed
    await expect(readers.list()).rejects.toThrow('is not running')

    await pcscd.start()
    expect((await events.next('reader-added')).reader).toBe(pcscd.readers[0])
    for (const number of [2, 3]) {
      const presented = await pcscd.present(1, numbered(number))
      const { card } = await events.next('card')
      expect(await card.transmit(select)).toEqual(Uint8Array.of(number, ...ok))
      presented.remove()
      await events.next('card-removed')
    }
  })

  test('a command that pcscd died under is not taken for done', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    let reached: () => void = () => undefined
    const underWay = new Promise<void>((resolve) => {
      reached = resolve
    })
    await pcscd.present(0, {
      transmit: () => {
        reached()
        return new Promise<never>(() => undefined)
      },
    })
    const card = await readers.waitForCard()
    const sent = card.transmit(select)
    sent.catch(() => undefined)
    await underWay
    await pcscd.kill()
    await expect(sent).rejects.toThrow(ReaderUnavailable)
    await card.removed()
  })

  test('readers that are there only when pcscd comes back are found', async (t) => {
    const pcscd = await openPcscd(t, { readers: false })
    const readers = openReaders(t, { backend, env: pcscd.env })
    const events = follow(t, readers)
    const added = events.next('reader-added')
    expect(await readers.list()).toEqual([])
    await pcscd.kill()
    pcscd.plugIn()
    await pcscd.start()
    expect((await added).reader).toBe(pcscd.readers[0])
  })

  test('its process killed while somebody watches: taps go on', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const events = follow(t, readers)
    await pcscd.present(0, numbered(1))
    const { card } = await events.next('card')
    const { pid } = await readers.host()
    process.kill(pid ?? 0, 'SIGKILL')
    await expect(card.transmit(select)).rejects.toThrow(ReaderUnavailable)
    await events.next('unavailable')
    // The card lies there still, and is told of again.
    const again = await events.next('card')
    expect(await again.card.transmit(select)).toEqual(Uint8Array.of(1, ...ok))
    expect((await readers.host()).pid).not.toBe(pid)
  })

  test('its process hung: it is ended, and another begun', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env, timeouts: impatient })
    const events = follow(t, readers)
    await events.next('reader-added')
    const { pid } = await readers.host()
    process.kill(pid ?? 0, 'SIGSTOP')
    expect((await events.next('unavailable')).error.message).toContain('do not respond')
    await gone(pid)
    await events.next('reader-added')
  })

  test('pcscd hung: neither a command nor a question is waited for without end', async (t) => {
    const pcscd = await openPcscd(t)
    // On a busy machine it may take long to connect: patience ends with pcscd.
    const timeouts = { ...impatient, command: 15_000 }
    const readers = openReaders(t, { backend, env: pcscd.env, timeouts })
    await pcscd.present(0, numbered(1))
    const card = await readers.waitForCard()
    await pcscd.freeze()
    timeouts.command = impatient.command
    await expect(card.transmit(select)).rejects.toThrow('do not respond')
    await expect(
      openReaders(t, { backend, env: pcscd.env, timeouts: { ...impatient, start: 500 } }).list(),
    ).rejects.toThrow(ReaderUnavailable)
  })

  test('pcscd that sends everybody away: that is said, and what may be the matter', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'tapchip-no-pcscd-'))
    const server = createServer((socket) => socket.destroy()).listen(join(folder, 'pcscd.comm'))
    t.onTestFinished(() => {
      server.close()
      rmSync(folder, { recursive: true })
    })
    await once(server, 'listening')
    const readers = openReaders(t, { backend, env: { PCSCLITE_CSOCK_NAME: join(folder, 'pcscd.comm') } })
    await expect(readers.list()).rejects.toThrow('ended the connection')
  })

  test('closed: its process ends, and so does all that waits', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    const events = follow(t, readers)
    await events.next('reader-added')
    const { pid } = await readers.host()
    const waiting = readers.waitForCard()
    waiting.catch(() => undefined)
    await Promise.all([readers.close(), readers.close()])
    await gone(pid)
    await expect(waiting).rejects.toThrow('closed')
    await expect(readers.list()).rejects.toThrow('closed')
    await expect(events.next('card')).rejects.toThrow('ended')
  })

  test('closed while it begins in vain: nobody waits for that', async (t) => {
    const pcscd = await openPcscd(t)
    await pcscd.freeze()
    const readers = openReaders(t, { backend, env: pcscd.env })
    const listing = readers.list()
    listing.catch(() => undefined)
    await readers.close()
    await expect(listing).rejects.toThrow('closed')
  })

  test('Ctrl-C or a closing terminal reach it too, and do not stop it: a chip may be half done', async (t) => {
    const pcscd = await openPcscd(t)
    const readers = openReaders(t, { backend, env: pcscd.env })
    await pcscd.present(0, numbered(1))
    const card = await readers.waitForCard()
    const { pid } = await readers.host()
    for (const signal of ['SIGINT', 'SIGHUP', 'SIGTERM'] as const) {
      process.kill(pid ?? 0, signal)
      expect(await card.transmit(select)).toEqual(Uint8Array.of(1, ...ok))
    }
    expect((await readers.host()).pid).toBe(pid)
  })

  test('its parent killed: it ends as well', async (t) => {
    const pcscd = await openPcscd(t)
    const script = `
      const host = require('node:child_process').fork(process.argv[1], [], { serialization: 'advanced' })
      host.on('message', ({ type }) => type === 'readers' && console.log(host.pid))
      host.send({ type: 'start', backend: process.argv[2] })`
    const parent = spawn(process.execPath, ['-e', script, hostScript, backend], {
      env: pcscd.env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(parent.stdout, 'data')
    parent.kill('SIGKILL')
    await gone(Number(line))
  })
})

describe.concurrent('which library is taken', () => {
  /** The child's script where no libraries but these are installed. */
  function installedWith(t: TestContext, ...packages: string[]): string {
    const folder = mkdtempSync(join(tmpdir(), 'tapchip-host-'))
    t.onTestFinished(() => rmSync(folder, { recursive: true }))
    copyFileSync(hostScript, join(folder, 'reader-host.cjs'))
    mkdirSync(join(folder, 'node_modules'))
    const modules = resolve(import.meta.dirname, '../../node_modules')
    for (const name of packages) symlinkSync(join(modules, name), join(folder, 'node_modules', name))
    return join(folder, 'reader-host.cjs')
  }
  const backendOf = async (t: TestContext, script: string) => {
    const pcscd = await openPcscd(t)
    const readers = new PcscReaders({ hostScript: script, env: pcscd.env })
    t.onTestFinished(() => readers.close())
    return (await readers.host()).backend
  }

  test('nfc-pcsc where it is built', async (t) => {
    expect(await backendOf(t, hostScript)).toBe('nfc-pcsc')
  })

  test('pcsc-mini where nfc-pcsc is not', async (t) => {
    expect(await backendOf(t, installedWith(t, '@pcsc-mini'))).toBe('pcsc-mini')
  })

  test('neither: what to install is said', async (t) => {
    const refusal = backendOf(t, installedWith(t))
    await expect(refusal).rejects.toThrow(ReaderUnavailable)
    await expect(refusal).rejects.toMatchObject({ advice: expect.stringContaining('npm rebuild') })
  })
})
