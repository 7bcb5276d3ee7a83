package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const versionLong = `version prints the version of rueidisson, of Go, and the platform.

With --json: {"version", "go", "platform"}.`

func versionCommand(t *tool) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    versionLong,
		Example: "  rueidisson version --json",
		Args:    exactly(0, "no arguments are"),
		RunE: func(*cobra.Command, []string) error {
			v, platform := version(), runtime.GOOS+"/"+runtime.GOARCH
			return t.tellDone(struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{v, runtime.Version(), platform}, "rueidisson %s %s %s\n", v, runtime.Version(), platform)
		},
	}
}

// version returns the version of the module, or "(devel)" without one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
