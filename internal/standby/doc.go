// Package standby is what a process knows beside its server, so that it need not
// ask: which buckets have refused, and which tokens were taken along for later.
package standby
