package main

import "github.com/spf13/cobra"

// oneName is for commands whose only argument is NAME.
func oneName(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("one NAME is needed, not %d", len(args))
	}
	return nil
}

// exactly is for commands with a fixed number of arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usage("%s needed, not %d arguments", what, len(args))
		}
		return nil
	}
}

// letSwitchesStandFirst tells a command which flags of those under it take no
// value. It would otherwise take the command for one, in "rueidisson --embedded
// lock".
func letSwitchesStandFirst(above *cobra.Command, switches []string) {
	for _, name := range switches {
		if above.Flags().Lookup(name) != nil {
			continue // several of them have it
		}
		above.Flags().Bool(name, false, "")
		_ = above.Flags().MarkHidden(name)
	}
}
