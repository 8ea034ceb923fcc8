// Lines on logarithmic axes, as an SVG that is legible on light and on dark. Colours are those of Okabe and Ito, which
// the colour-blind tell apart; each line has a mark and dashes of its own besides.
const panel = { width: 440, height: 330, left: 62, right: 16, top: 46, bottom: 48 }
const looks = ['circle', 'square', 'triangle', 'diamond']
const dashes = ['', '7 4', '2 3', '9 3 2 3']
const legendColumns = 4
const rowHeight = 20

const style = `
    text { fill: #1f2328; }
    .quiet { fill: #57606a; }
    .axis { stroke: #57606a; }
    .grid { stroke: #d0d7de; }
    .line { fill: none; stroke-width: 2; }
    .s0 { stroke: #0072b2; } .m0 { fill: #0072b2; }
    .s1 { stroke: #d55e00; } .m1 { fill: #d55e00; }
    .s2 { stroke: #007d5a; } .m2 { fill: #007d5a; }
    .s3 { stroke: #a8457f; } .m3 { fill: #a8457f; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .quiet { fill: #9198a1; }
      .axis { stroke: #9198a1; }
      .grid { stroke: #30363d; }
      .s0 { stroke: #56b4e9; } .m0 { fill: #56b4e9; }
      .s1 { stroke: #e69f00; } .m1 { fill: #e69f00; }
      .s2 { stroke: #2fc79a; } .m2 { fill: #2fc79a; }
      .s3 { stroke: #e08bbd; } .m3 { fill: #e08bbd; }
    }
  `

const n = (value) => String(Number(value.toFixed(1)))
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const text = (x, y, words, more = '') => `<text x="${n(x)}" y="${n(y)}"${more}>${escaped(words)}</text>`
const middle = ' text-anchor="middle"'
const small = ' font-size="12"'
const quiet = ` class="quiet"${small}`

const marks = {
  circle: (x, y) => `<circle cx="${n(x)}" cy="${n(y)}" r="4"/>`,
  square: (x, y) => `<rect x="${n(x - 3.5)}" y="${n(y - 3.5)}" width="7" height="7"/>`,
  triangle: (x, y) => `<path d="M${n(x)} ${n(y - 5)}l4.8 8.6h-9.6z"/>`,
  diamond: (x, y) => `<path d="M${n(x)} ${n(y - 5)}l5 5-5 5-5-5z"/>`,
}

const exponents = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹']
/** `1,000`, and `10⁷` for what would not fit below an axis. */
export const tick = (value) => {
  const power = Math.log10(value)
  return value >= 1e4 && Number.isInteger(power) ? `10${exponents[power]}` : value.toLocaleString('en')
}

/** 1, 2 and 5 times the powers of ten that lie around the values; powers alone where there are many. */
function ticksAround(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const wide = most / least > 200
  const all = []
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++)
    for (const digit of wide ? [1] : [1, 2, 5]) all.push(Number((digit * 10 ** power).toPrecision(1)))
  const first = all.findLastIndex((value) => value <= least)
  const last = all.findIndex((value) => value >= most)
  return all.slice(first, last + 1)
}

const scale = ([from, to], [start, end]) => {
  const span = Math.log(to / from) || 1
  return (value) => start + ((end - start) * Math.log(value / from)) / span
}

/** Dashes of its own; colour and mark too, unless it is said to be `like` another. */
const lookOf = ({ name, like = name }, names) => ({ dash: names.indexOf(name), tone: names.indexOf(like) })

const stroke = ({ dash, tone }, path) =>
  `<path class="line s${tone}" stroke-dasharray="${dashes[dash]}" d="${path}"/>`
const dots = ({ tone }, places) =>
  `<g class="m${tone}">${places.map(([x, y]) => marks[looks[tone]](x, y)).join('')}</g>`

function drawPanel({ title, x, y, lines }, left, names) {
  const { width, height, top, bottom } = panel
  const [x0, x1] = [left + panel.left, left + width - panel.right]
  const [y0, y1] = [height - bottom, top]
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b)
  const ticks = ticksAround(lines.flatMap(({ points }) => points.map(([, value]) => value)))
  // A little beyond the ends, so that no mark stands on the axis.
  const pad = (xs.at(-1) / xs[0]) ** 0.03
  const toX = scale([xs[0] / pad, xs.at(-1) * pad], [x0, x1])
  const toY = scale([ticks[0], ticks.at(-1)], [y0, y1])
  const grid = ticks.flatMap((value) => [
    `<path class="grid" d="M${x0} ${n(toY(value))}H${x1}"/>`,
    text(x0 - 8, toY(value) + 4, tick(value), `${quiet} text-anchor="end"`),
  ])
  const below = xs.map((value) => text(toX(value), y0 + 18, tick(value), `${quiet}${middle}`))
  const drawn = lines.map((line) => {
    const look = lookOf(line, names)
    const places = line.points.map(([px, py]) => [toX(px), toY(py)])
    const path = places.map(([px, py], i) => `${i === 0 ? 'M' : 'L'}${n(px)} ${n(py)}`).join('')
    return stroke(look, path) + dots(look, places)
  })
  return [
    text(x0, 20, title, ' font-weight="600"'),
    text(x0, 38, y, quiet),
    ...grid,
    `<path class="axis" d="M${x0} ${y0}H${x1}"/>`,
    ...below,
    text((x0 + x1) / 2, y0 + 38, x, `${quiet}${middle}`),
    ...drawn,
  ]
}

function drawLegend(lines, names, width) {
  const column = (width - panel.left) / legendColumns
  return names.map((name, at) => {
    const look = lookOf(
      lines.find((line) => line.name === name),
      names,
    )
    const x = panel.left + (at % legendColumns) * column
    const y = panel.height + 14 + Math.floor(at / legendColumns) * rowHeight
    return stroke(look, `M${n(x)} ${y}h34`) + dots(look, [[x + 17, y]]) + text(x + 42, y + 4, name, small)
  })
}

/**
 * Panels side by side, with one legend.
 * @param about title and description for those who do not see it
 * @param panels each `{ title, x, y, lines }`: `x` and `y` say what the axes are, units included, and a line is
 * `{ name, points: [[x, y], …] }` above zero, of which there are four names at most; with `like`, the name of another
 * line, it has that one's colour
 */
export function plotOf({ title, description, panels }) {
  const lines = panels.flatMap((one) => one.lines)
  const names = [...new Set(lines.map(({ name }) => name))]
  const width = panel.width * panels.length
  const height = panel.height + 14 + rowHeight * Math.ceil(names.length / legendColumns)
  const parts = [
    ...panels.flatMap((one, at) => drawPanel(one, at * panel.width, names)),
    ...drawLegend(lines, names, width),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title desc" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14">
  <title id="title">${escaped(title)}</title>
  <desc id="desc">${escaped(description)}</desc>
  <style>${style}</style>
  ${parts.join('\n  ')}
</svg>
`
}
