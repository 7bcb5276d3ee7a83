package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

const versionLong = `version prints the version of rueidisson, of Go, and the platform.

With --json: {"version", "go", "platform"}.`

func versionCommand(t *tool.Tool) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    versionLong,
		Example: "  rueidisson version --json",
		Args:    usage.Exactly(0, "no arguments are"),
		RunE: func(*cobra.Command, []string) error {
			v, platform := Version(), runtime.GOOS+"/"+runtime.GOARCH
			return t.TellDone(struct {
				Version  string `json:"version"`
				Go       string `json:"go"`
				Platform string `json:"platform"`
			}{v, runtime.Version(), platform}, "rueidisson %s %s %s\n", v, runtime.Version(), platform)
		},
	}
}

// Version returns the version of the module, or "(devel)" without one.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
