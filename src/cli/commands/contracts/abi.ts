import { readFileSync, statSync } from 'node:fs'
import { isJsonObject, isText } from '../../../values/json.ts'
import { UsageError } from '../../errors.ts'
import { withFiles } from '../../file-problem.ts'

type AbiItem = string | { type: string; name: string; stateMutability?: string; inputs: { type: string }[] }

const maxBytes = 10 * 1024 * 1024

/** The functions and errors in a file. @throws UsageError */
export function readAbi(path: string): AbiItem[] {
  const text = withFiles({ path, verb: 'read', exitCode: 2 }, () => {
    if (statSync(path).size > maxBytes) throw new UsageError(`${path} is over ${maxBytes} bytes.`)
    return readFileSync(path, 'utf8')
  }).replace(/^\ufeff/, '')
  const items = /^\s*[[{]/.test(text) ? itemsOf(text)?.flatMap(toItem) : linesOf(text)
  if (items) return items
  throw new UsageError(
    `${path} contains no ABI. Give a JSON array, an artifact with "abi", or lines such as: function mintTo(address to, uint256 tokenId)`,
  )
}

/** The daemon takes none that are longer. */
const maxLineLength = 1000

function linesOf(text: string): string[] | undefined {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim().replace(/;$/, ''))
    .filter((line) => line !== '' && !line.startsWith('//'))
  return lines.every(({ length }) => length <= maxLineLength) ? lines : undefined
}

/** Of a bare array, an artifact of Foundry or Hardhat, or what Etherscan answers. */
function itemsOf(text: string): unknown[] | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return undefined
  }
  if (Array.isArray(parsed)) return parsed
  if (!isJsonObject(parsed)) return undefined
  const { abi, result } = parsed
  if (Array.isArray(abi)) return abi
  return isText(result) ? itemsOf(result) : undefined
}

function toItem(item: unknown): AbiItem[] {
  if (isText(item)) return [item]
  if (!isJsonObject(item)) return []
  const { type, name, stateMutability, inputs } = item
  if ((type !== 'function' && type !== 'error') || !isText(name)) return []
  const types = (Array.isArray(inputs) ? inputs : []).map((input: unknown) => {
    const of = isJsonObject(input) ? input : {}
    return { type: 'type' in of && isText(of.type) ? of.type : '' }
  })
  return [{ type, name, inputs: types, ...(isText(stateMutability) && { stateMutability }) }]
}
