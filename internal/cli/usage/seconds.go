package usage

import (
	"regexp"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// plainNumber matches a duration without a unit.
var plainNumber = regexp.MustCompile(`^[-+]?[0-9]*\.?[0-9]+$`)

// WithUnit returns the text of a duration, in seconds if it has no unit.
func WithUnit(text string) string {
	if plainNumber.MatchString(text) {
		return text + "s"
	}
	return text
}

// ParseDuration reads a duration, in seconds if it has no unit.
func ParseDuration(text string) (time.Duration, error) { return time.ParseDuration(WithUnit(text)) }

// secondsValue accepts plain seconds for a duration flag.
type secondsValue struct{ pflag.Value }

func (v secondsValue) Set(text string) error { return v.Value.Set(WithUnit(text)) }

// AcceptSeconds has all duration flags of cmd, and of the commands below it, accept plain seconds, as flock and
// timeout do.
func AcceptSeconds(cmd *cobra.Command) {
	each := func(f *pflag.Flag) {
		if _, done := f.Value.(secondsValue); done || f.Value.Type() != "duration" {
			return
		}
		f.Value = secondsValue{f.Value}
		if f.DefValue == "0s" {
			f.DefValue = "" // help does not show it as a default
		}
	}
	cmd.PersistentFlags().VisitAll(each)
	cmd.Flags().VisitAll(each)
	for _, sub := range cmd.Commands() {
		AcceptSeconds(sub)
	}
}
