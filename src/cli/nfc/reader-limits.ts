import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SHORT_LC } from '../../nfc/script.ts'
import { replaceFile } from '../../values/files.ts'
import { type SystemPaths, stateDir } from '../system.ts'

/** More readers than anybody has. The oldest is forgotten first. */
const maxModels = 32

/** PC/SC counts readers of a model by numbers at the end of the name. */
export const modelOf = (reader: string): string => reader.replace(/(\s+([0-9A-F]{2}|\d))+$/, '')

const isKnownSmall = (reader: string): boolean => /\bACR122/i.test(reader)

/** Readers that pass only small APDUs on, remembered by model for later commands. */
export class ReaderLimits {
  readonly #system: SystemPaths
  readonly #path: string
  readonly #models: Set<string>

  constructor(system: SystemPaths) {
    this.#system = system
    this.#path = join(stateDir(system), 'small-readers.json')
    this.#models = new Set(readModels(this.#path))
  }

  /** The most data of an APDU for this reader; undefined: as much as the daemon sends. */
  maxLc(reader: string): typeof SHORT_LC | undefined {
    return isKnownSmall(reader) || this.#models.has(modelOf(reader)) ? SHORT_LC : undefined
  }

  /** A model that cannot be written down is known to this command alone. */
  remember(reader: string): void {
    this.#models.add(modelOf(reader))
    try {
      mkdirSync(stateDir(this.#system), { recursive: true, mode: 0o700 })
      const models = new Set([...readModels(this.#path), ...this.#models])
      replaceFile(this.#path, `${JSON.stringify([...models].slice(-maxModels))}\n`)
    } catch {
      return
    }
  }
}

const readModels = (path: string): readonly string[] => {
  try {
    const models: unknown = JSON.parse(readFileSync(path, 'utf8'))
    return Array.isArray(models) ? models.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}
