import { readdirSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CardError, type CardReader } from '../../../nfc/card.ts'
import { readerWords } from '../../../nfc/pcsc/unavailable.ts'
import type { CliContext } from '../../context.ts'
import { openPcsc } from '../../nfc/readers.ts'
import { type Finding, ok, warn } from './finding.ts'

const timeoutMs = 1_000

/** A machine may do without readers, so nothing here is a failure. */
export const checkReaders = async (ctx: CliContext): Promise<Finding[]> => [
  await checkService(ctx),
  ...(platformOf(ctx) === 'linux' ? readersOfKernel() : []).map((driver) =>
    warn(
      'reader driver',
      `the kernel driver ${driver} holds a reader, so pcscd cannot use it`,
      `echo "blacklist ${driver}" | sudo tee /etc/modprobe.d/tapchip.conf; sudo modprobe -r ${driver}`,
    ),
  ),
]

/** The readers of this machine; `problem`: why they cannot be used, with the fix. */
export interface Readers {
  readonly list: readonly Pick<CardReader, 'name' | 'state'>[]
  /** The package that talks to the reader service. */
  readonly backend?: string
  readonly problem?: Finding
}

export const readersHere = async (ctx: CliContext): Promise<Readers> => {
  const readers = await openPcsc(ctx)
  const listReaders = async (): Promise<Readers> => {
    const { backend } = await readers.host()
    const list = await readers.list()
    return { backend, list: list.map(({ name, state }) => ({ name, state })) }
  }
  const { restart } = readerWords(platformOf(ctx))
  const late = (): Readers => ({
    list: [],
    problem: warn(
      'readers',
      `the reader service did not answer within ${timeoutMs / 1000} s`,
      platformOf(ctx) === 'linux'
        ? restart
        : `unplug the reader and plug it in again. If that does not help: ${restart}`,
    ),
  })
  try {
    return await Promise.race([
      listReaders().catch((error: unknown) => ({ list: [], problem: unusable(error) })),
      delay(timeoutMs, undefined, { ref: false }).then(late),
    ])
  } finally {
    await readers.close()
  }
}

export const describeReaders = ({ list }: Readers): string =>
  list.map(({ name, state }) => `${name} (${state})`).join(', ') || 'none is plugged in'

const checkService = async (ctx: CliContext): Promise<Finding> => {
  const found = await readersHere(ctx)
  return found.problem ?? ok('readers', `${describeReaders(found)}, by ${found.backend}`)
}

const platformOf = ({ system }: CliContext): NodeJS.Platform => system.platform ?? process.platform

const unusable = (error: unknown): Finding => {
  if (!(error instanceof CardError)) throw error
  // A command may begin with a capital letter.
  const advice = error.advice.replace(/^[A-Z](?=[a-z]+ )/, (letter) => letter.toLowerCase())
  return warn('readers', `${error.message}; nfc commands need it`, advice)
}

/** Kernel drivers for NFC readers, such as the ACR122U, keep pcscd from using them. */
const rivals = new Set(['pn533_usb', 'pn533'])

/** @param devices the directory in which Linux lists USB devices; other systems have none */
export const readersOfKernel = (devices = '/sys/bus/usb/devices'): string[] => [
  ...new Set(namesIn(devices).flatMap((name) => driverOf(join(devices, name)) ?? [])),
]

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

const driverOf = (device: string): string | undefined => {
  try {
    const driver = basename(readlinkSync(join(device, 'driver')))
    return rivals.has(driver) ? driver : undefined
  } catch {
    return undefined
  }
}
