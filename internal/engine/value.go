package engine

import "fmt"

// LargestValue is what a server takes as one argument unless its
// proto-max-bulk-len says otherwise.
const LargestValue = 512 << 20

// Fits refuses a key or a value of n bytes that is longer than the client's
// bound, before it is sent: a server ends the connection on which it comes, and
// everything else that is under way on it.
func (c *Config) Fits(n int) error {
	most := c.MaxValue
	if most == 0 {
		most = LargestValue
	}
	if n > most {
		return fmt.Errorf("%w: %d bytes are more than the %d of WithMaxValue", ErrOption, n, most)
	}
	return nil
}
