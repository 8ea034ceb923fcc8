export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Median, smallest and largest. */
export const spread = (values) => ({
  median: median(values),
  min: Math.min(...values),
  max: Math.max(...values),
})

/** The middle, 99 % and 99.9 % of many. */
export function percentiles(values) {
  const sorted = Float64Array.from(values).sort()
  return [0.5, 0.99, 0.999].map(
    (part) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * part) - 1)],
  )
}
