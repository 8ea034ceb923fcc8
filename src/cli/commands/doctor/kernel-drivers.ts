import { readdirSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Linux has drivers of its own for NFC readers, the ACR122U among them; pcscd cannot have what they hold. */
const rivals = new Set(['pn533_usb', 'pn533'])

/** The rivals that hold a device. @param devices where Linux shows what is on USB; elsewhere there is nothing */
export const heldByKernel = (devices = '/sys/bus/usb/devices'): string[] => [
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
