// What the demo says, and how it looks.

const isTerminal = process.stdout.isTTY === true && !process.env.NO_COLOR
const styled = (code, text) => (isTerminal ? `\u001b[${code}m${text}\u001b[0m` : text)

let steps = 0

export const title = (text) => console.log(`\n${styled(1, text)}`)
export const say = (text) => console.log(`  ${text.replaceAll('\n', '\n  ')}`)

export function step(text) {
  steps += 1
  console.log(`\n${styled(1, `${steps}. ${text}${text.endsWith('?') ? '' : '.'}`)}`)
}

/** A command and what it printed, as somebody would see it in a terminal. */
export function command(args, output) {
  const words = args.map((word) => (/[\s&?]/.test(word) ? `'${shorten(word)}'` : word))
  console.log(`  ${styled(36, `$ tapchip ${words.join(' ')}`)}`)
  for (const line of output.trim().split('\n')) console.log(`    ${pretty(line)}`)
}

/** A JSON answer over several lines, so that it can be read. */
function pretty(line) {
  if (!line.startsWith('{')) return line
  return JSON.stringify(JSON.parse(line), null, 2).replaceAll('\n', '\n    ')
}

export const shorten = (url) => url.replace(/([0-9A-F]{10})[0-9A-F]{12,}/g, '$1…')
