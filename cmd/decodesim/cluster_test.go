package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/decodesim/decodesim/internal/soak"
)

// asked is what the manifests of docs/ sweep, and instead is what the tests do.
const (
	asked   = "chat-70b --ladder --seeds 3"
	instead = "chat.yaml --over rate=5:40:5 --seeds 2 --set workload.requests=200"
)

// manifest reads one of docs/ as the tests run it.
func manifest(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), asked))
	return strings.Replace(string(text), asked, instead, 1)
}

// shell runs a script in which decodesim is this program.
func shell(t *testing.T, script string, env ...string) {
	self, err := os.Executable()
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(bin, "decodesim")))
	c := exec.Command("bash", "-c", script)
	c.Env = append(append(os.Environ(), asProgram+"=1", "PATH="+bin+":"+os.Getenv("PATH")), env...)
	said, err := c.CombinedOutput()
	require.NoError(t, err, "%s: %s", script, said)
}

// TestTheManifestsMakeOneSweep: the tasks of the Slurm array and the indices of the Kubernetes Job, run one after the
// other as these would, merge to what one command writes.
func TestTheManifestsMakeOneSweep(t *testing.T) {
	soak.TakesLong(t)
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	inDir(t, handed)
	require.NoError(t, program(t, strings.Fields("sweep "+instead+" --out serial")...).Run())
	const tasks = 4
	slurm := manifest(t, "sweep.sbatch")
	require.Contains(t, slurm, fmt.Sprintf("#SBATCH --array=1-%d\n", tasks))
	for i := 1; i <= tasks; i++ {
		shell(t, slurm, "SLURM_CPUS_PER_TASK=2", fmt.Sprint("SLURM_ARRAY_TASK_ID=", i),
			fmt.Sprint("SLURM_ARRAY_TASK_COUNT=", tasks))
	}
	shell(t, "decodesim sweep merge parts/* --out whole")
	sameFiles(t, "serial", "whole")

	var job struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Spec       struct {
			CompletionMode           string `yaml:"completionMode"`
			Completions, Parallelism int
			Template                 struct {
				Spec struct {
					RestartPolicy string `yaml:"restartPolicy"`
					Containers    []struct{ Command, Args []string }
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(manifest(t, "sweep-job.yaml")), &job))
	assert.Equal(t, []string{"batch/v1", "Job", "Indexed", "OnFailure"}, []string{job.APIVersion, job.Kind,
		job.Spec.CompletionMode, job.Spec.Template.Spec.RestartPolicy})
	require.Len(t, job.Spec.Template.Spec.Containers, 1)
	container := job.Spec.Template.Spec.Containers[0]
	require.Equal(t, []string{"/bin/sh", "-c"}, container.Command)
	require.Len(t, container.Args, 1)
	results := t.TempDir()
	for i := range job.Spec.Completions {
		shell(t, strings.ReplaceAll(container.Args[0], "/results", results), fmt.Sprint("JOB_COMPLETION_INDEX=", i))
	}
	shell(t, "decodesim sweep merge "+results+"/parts/* --out "+results+"/whole")
	sameFiles(t, "serial", filepath.Join(results, "whole"))
}

// sameFiles requires that two directories have the same files.
func sameFiles(t *testing.T, a, b string) {
	require.Equal(t, namesIn(t, a), namesIn(t, b))
	for _, name := range namesIn(t, a) {
		want, err := os.ReadFile(filepath.Join(a, name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(b, name))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}
