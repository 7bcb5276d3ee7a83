package standby

// Standby is what is known of the buckets of one client. Its zero value is
// ready.
type Standby struct {
	denials denials
	stocks  stocks
}
