package usage

import (
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
)

// OneName is for commands whose only argument is NAME.
func OneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("one NAME is needed, not %d", len(args))
	}
	return nil
}

// Exactly is for commands with a fixed number of arguments.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return exit.Usagef("%s needed, not %d arguments", what, len(args))
		}
		return nil
	}
}

// LetSwitchesStandFirst tells a command which flags of those under it take no
// value. It would otherwise take the command for one, in "rueidisson --embedded
// lock".
func LetSwitchesStandFirst(above *cobra.Command, switches []string) {
	for _, name := range switches {
		if above.Flags().Lookup(name) != nil {
			continue // several of them have it
		}
		above.Flags().Bool(name, false, "")
		_ = above.Flags().MarkHidden(name)
	}
}
