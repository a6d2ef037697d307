// Student's interval of a mean.

/** Mean of some values; NaN of none. */
export function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Half width of the 95 % interval of the mean, t(0.975, n - 1) s / sqrt(n); NaN below 2 values. */
export function halfWidth(values: number[]): number {
  const n = values.length;
  if (n < 2) return NaN;
  const centre = mean(values);
  const squares = values.reduce((sum, value) => sum + (value - centre) ** 2, 0);
  return (studentQuantile(0.975, n - 1) * Math.sqrt(squares / (n - 1))) / Math.sqrt(n);
}

/** Quantile of Student's distribution above the median, by bisection. */
export function studentQuantile(probability: number, degrees: number): number {
  let [low, high] = [0, 1];
  while (studentCdf(high, degrees) < probability) high *= 2;
  for (let step = 0; step < 100 && high - low > 1e-13 * high; step++) {
    const middle = (low + high) / 2;
    if (studentCdf(middle, degrees) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(T <= t) for t >= 0, by the closed forms of Abramowitz and Stegun, 26.7.3 and 26.7.4. */
function studentCdf(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const odd = degrees % 2 === 1;
  let term = odd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= (cosine ** 2 * (k - 1)) / k;
    sum += term;
  }
  const within = odd ? (2 / Math.PI) * (angle + sine * sum) : sine * sum;
  return 0.5 + within / 2;
}
