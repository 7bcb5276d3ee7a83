// Package standby is what a process knows beside its server, so that it need not
// ask: which buckets have refused, which tokens were taken along for later, and
// whether the server answers at all.
package standby
